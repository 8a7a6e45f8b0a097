import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { AppError } from '../../../../lib/errors.ts'
import { type BatchOperation, refuseOperation } from '../parse/batch.ts'
import { planUpsert, type UpsertPlan } from './upsert.ts'

/** Part of a batch that one statement runs: one operation, or neighbouring creates with the same columns. */
export interface BatchRun {
  readonly relation: Relation
  readonly method: BatchOperation['method']
  /** Columns written; empty for deletes. */
  readonly columns: readonly Column[]
  readonly operations: readonly BatchOperation[]
  /** Upsert of a create that may find a record with its key. It is alone in its run. */
  readonly upsert: UpsertPlan | undefined
}

/**
 * @param isMergeable whether creates on the relation may share one statement
 * @throws AppError with `operation` where an `onConflict` names no unique key
 */
export function planBatch(
  operations: readonly BatchOperation[],
  isMergeable: (relation: Relation) => boolean,
): BatchRun[] {
  const runs: (BatchRun & { readonly operations: BatchOperation[] })[] = []
  for (const operation of operations) {
    const last = runs.at(-1)
    if (last !== undefined && continues(last, operation) && isMergeable(last.relation)) {
      last.operations.push(operation)
    } else {
      const { relation, method } = operation
      const upsert = upsertOf(operation)
      runs.push({ relation, method, columns: columnsOf(operation), operations: [operation], upsert })
    }
  }
  return runs
}

function continues(run: BatchRun, operation: BatchOperation): boolean {
  if (run.relation !== operation.relation || run.method !== 'create' || operation.method !== 'create') {
    return false
  }
  if (run.upsert !== undefined || operation.conflict !== undefined) return false
  const { columns } = operation.body
  return (
    columns.length === run.columns.length && columns.every((column, index) => column === run.columns[index])
  )
}

function columnsOf(operation: BatchOperation): readonly Column[] {
  return operation.method === 'delete' ? [] : operation.body.columns
}

function upsertOf(operation: BatchOperation): UpsertPlan | undefined {
  if (operation.method !== 'create' || operation.conflict === undefined) return undefined
  try {
    return planUpsert(operation.relation, operation.conflict, operation.body.columns)
  } catch (error) {
    throw error instanceof AppError ? refuseOperation(error, operation) : error
  }
}
