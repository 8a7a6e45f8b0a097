import type { Column, Relation } from '../../../database/catalog/model.ts'
import type { BatchOperation } from '../parse/batch.ts'
import type { Reader } from './reader.ts'

/** Neighbouring operations that one statement can do. */
export interface BatchRun {
  readonly relation: Relation
  readonly method: BatchOperation['method']
  /** Columns written; empty for deletes. */
  readonly columns: readonly Column[]
  readonly operations: readonly BatchOperation[]
}

/**
 * Joins neighbours of the same kind into runs, where doing them at once means the same as one after the other.
 *
 * @param separately every operation by itself, to find the one that fails
 */
export function planBatch(
  operations: readonly BatchOperation[],
  reader: Reader,
  separately: boolean,
): BatchRun[] {
  const runs: { -readonly [Key in keyof BatchRun]: BatchRun[Key] }[] = []
  for (const operation of operations) {
    const last = runs.at(-1)
    if (last !== undefined && !separately && continues(last, operation, reader)) {
      last.operations = [...last.operations, operation]
    } else {
      runs.push({
        relation: operation.relation,
        method: operation.method,
        columns: columnsOf(operation),
        operations: [operation],
      })
    }
  }
  return runs
}

function continues(run: BatchRun, operation: BatchOperation, reader: Reader): boolean {
  const { relation, method } = operation
  if (run.relation !== relation || run.method !== method) return false
  // A policy that looks at other rows would not see those of the same statement.
  if (reader === 'caller' && !relation.hasRowLocalPolicies) return false
  const columns = columnsOf(operation)
  if (
    columns.length !== run.columns.length ||
    columns.some((column, index) => column !== run.columns[index])
  ) {
    return false
  }
  if (operation.method === 'create') return true
  // A record that occurs twice, or whose key changes, needs the order; keys of arrays do not fit an array of keys.
  if (relation.primaryKey.some((column) => column.type.isArray || columns.includes(column))) return false
  const key = keyOf(operation)
  return !run.operations.some((earlier) => keyOf(earlier) === key)
}

function columnsOf(operation: BatchOperation): readonly Column[] {
  return operation.method === 'delete' ? [] : operation.body.columns
}

function keyOf(operation: BatchOperation): string {
  return operation.method === 'create' ? '' : JSON.stringify(operation.id)
}
