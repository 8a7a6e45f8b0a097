import type { ColumnType, Relation } from '../../../../database/catalog/model.ts'
import { Slot, type Sql, sql } from '../../../../database/sql.ts'
import { mayReadSystemColumns, readableRowKey } from '../plan/reader.ts'
import type { RecordPlan } from '../plan/record.ts'
import type { SlotValues } from '../statement-cache.ts'
import { compileComparison } from './comparison.ts'
import { bind } from './filter.ts'

/** Returns the slot values of {@link compileIdentity}, the values of a primary key. */
export function identitySlots(id: readonly string[]): SlotValues {
  return Object.fromEntries(id.map((value, index) => [idSlot(index).name, value]))
}

function idSlot(index: number): Slot {
  return new Slot(`id ${index}`)
}

/** Compiles the condition that the row of `alias` has the key in the slots. */
export function compileIdentity(relation: Relation, alias: string): Sql {
  return sql.join(
    relation.primaryKey.map((column, index) =>
      compileComparison(column.type, sql.id(alias, column.name), '=', bind(column, idSlot(index))),
    ),
    sql` and `,
  )
}

/** Column that distinguishes rows. */
interface KeyPart {
  readonly name: string
  readonly type: ColumnType | undefined
}

/**
 * Returns the columns that find a row again after the statement has locked it: its key, and among inheriting tables
 * also its table. The row position (`ctid`) is used only where the caller may not read the key. A row that was
 * changed concurrently has another position.
 */
export function keyOf(record: RecordPlan): readonly KeyPart[] {
  const { relation, reader } = record
  const { rowKey, hasDescendants } = relation
  const table = { name: 'tableoid', type: undefined }
  if (!mayReadKey(record)) return [table, { name: 'ctid', type: undefined }]
  return hasDescendants && mayReadSystemColumns(relation, reader) ? [...rowKey, table] : rowKey
}

/** Returns whether the caller may read the columns that distinguish rows. */
export function mayReadKey({ relation, reader }: RecordPlan): boolean {
  const { rowKey } = relation
  return rowKey.length > 0 && readableRowKey(relation, reader).length === rowKey.length
}

/** Returns whether the caller may read the columns of {@link keyOf}. */
export function canFindAgain(record: RecordPlan): boolean {
  return mayReadKey(record) || mayReadSystemColumns(record.relation, record.reader)
}

export function compileSameRow(key: readonly KeyPart[], one: string, other: string): Sql {
  return sql.join(
    key.map(({ name, type }) => compileComparison(type, sql.id(one, name), '=', sql.id(other, name))),
    sql` and `,
  )
}
