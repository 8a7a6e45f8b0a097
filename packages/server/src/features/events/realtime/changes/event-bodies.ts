import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { maySelect, type Reader } from '../../../data/collections/index.ts'
import { compileRestricted } from './decision-statements.ts'
import type { LogEvent } from './event.ts'
import type { Row } from './event-rows.ts'

/** Adds the body to send for each row: the current record, or the key of a row that is delivered as deleted. */
export async function describeRows(
  database: Queryable,
  relation: Relation,
  reader: Reader,
  rows: readonly Row[],
  bodies: Map<Row, string>,
): Promise<void> {
  const { collection: table } = relation
  const columns = relation.columns.filter((column) => maySelect(column, reader))
  const current = rows.filter(({ isOld }) => !isOld)
  const records = current.map(({ event }) => event.record)
  const isWhole = columns.length === relation.columns.length
  const restricted = isWhole ? records : await restrict(database, records, columns)
  current.forEach((row, index) => {
    bodies.set(row, bodyOf(row.event.action, table, restricted[index] ?? '{}'))
  })
  for (const row of rows)
    if (row.isOld) bodies.set(row, bodyOf('delete', table, keyOf(row.event, relation, columns)))
}

async function restrict(
  database: Queryable,
  records: readonly string[],
  columns: readonly Column[],
): Promise<string[]> {
  if (records.length === 0) return []
  const names = columns.map(({ name }) => name)
  const rows = await database.many<{ record: string }>(
    compileRestricted(sql`${`[${records.join()}]`}`, names),
  )
  return rows.map(({ record }) => record)
}

/** Returns the primary key as texts, without columns that the caller may not read. */
function keyOf({ key, oldKey }: LogEvent, { primaryKey }: Relation, readable: readonly Column[]): string {
  const values = oldKey ?? key ?? []
  const members = primaryKey.flatMap((column, index) =>
    readable.includes(column) ? [[column.name, values[index]] as const] : [],
  )
  return JSON.stringify(Object.fromEntries(members))
}

/**
 * Renders the body. A `json` column preserves line breaks, which mean nothing outside of strings and would end an SSE
 * line.
 */
function bodyOf(action: LogEvent['action'], table: string, record: string): string {
  return `{"action":"${action}","table":${JSON.stringify(table)},"record":${record.replace(/[\r\n]+/g, ' ')}}`
}
