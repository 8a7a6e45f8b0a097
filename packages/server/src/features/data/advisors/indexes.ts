import type { Relation } from '../../../database/catalog/model.ts'
import { sql } from '../../../database/sql.ts'
import { idOf } from './access-rules.ts'
import { type Severity, write } from './advice.ts'

/** Number of rows below which a table scan is as quick as an index. */
const smallRows = 10_000
/** Number of rows from which an index is built concurrently, without blocking writers. No transaction can do that. */
const concurrentRows = 100_000

export function severityOf(rows: number): Severity {
  return rows < smallRows ? 'info' : 'warning'
}

export function createIndex(table: Relation, columns: readonly string[], rows: number): string {
  const how = rows >= concurrentRows ? sql` concurrently` : sql.empty
  return write(sql`create index${how} on ${idOf(table)} (${sql.join(columns.map((name) => sql.id(name)))})`)
}
