import type { ColumnType, Relation } from '../../../../database/catalog/model.ts'
import { Slot, type Sql, sql } from '../../../../database/sql.ts'
import { mayReadSystemColumns, readableRowKey } from '../plan/reader.ts'
import type { RecordPlan } from '../plan/record.ts'
import type { SlotValues } from '../statement-cache.ts'
import { compileComparison } from './comparison.ts'
import { bind } from './filter.ts'

/** The values of a primary key, for the slots of {@link compileIdentity}. */
export function identitySlots(id: readonly string[]): SlotValues {
  return Object.fromEntries(id.map((value, index) => [idSlot(index).name, value]))
}

function idSlot(index: number): Slot {
  return new Slot(`id ${index}`)
}

/** The row of `alias` is the one whose key stands in the slots. */
export function compileIdentity(relation: Relation, alias: string): Sql {
  return sql.join(
    relation.primaryKey.map((column, index) =>
      compileComparison(column.type, sql.id(alias, column.name), '=', bind(column, idSlot(index))),
    ),
    sql` and `,
  )
}

/** A column that tells rows apart. */
interface KeyPart {
  readonly name: string
  readonly type: ColumnType | undefined
}

/**
 * What finds a row again that the statement has locked: its key, among tables that inherit also the table it is in. By its
 * place only where the caller reads no key: one that was changed meanwhile has another.
 */
export function keyOf(record: RecordPlan): readonly KeyPart[] {
  const { relation, reader } = record
  const { rowKey, hasDescendants } = relation
  const table = { name: 'tableoid', type: undefined }
  if (!mayReadKey(record)) return [table, { name: 'ctid', type: undefined }]
  return hasDescendants && mayReadSystemColumns(relation, reader) ? [...rowKey, table] : rowKey
}

function mayReadKey({ relation, reader }: RecordPlan): boolean {
  const { rowKey } = relation
  return rowKey.length > 0 && readableRowKey(relation, reader).length === rowKey.length
}

/** Whether the caller may read what {@link keyOf} names. */
export function canFindAgain(record: RecordPlan): boolean {
  return mayReadKey(record) || mayReadSystemColumns(record.relation, record.reader)
}

export function compileSameRow(key: readonly KeyPart[], one: string, other: string): Sql {
  return sql.join(
    key.map(({ name, type }) => compileComparison(type, sql.id(one, name), '=', sql.id(other, name))),
    sql` and `,
  )
}
