import { type Sql, sql } from './sql.ts'
import type { Queryable } from './system-database.ts'

/** Number of rows that one statement deletes, so that none runs or holds its locks for long. */
const batchSize = 10_000

/**
 * Deletes the rows of a table in the schema `basalt` that meet a condition, in statements of bounded size. It
 * skips a row that is changed at the same time.
 *
 * @param database outside of a transaction, which would hold the locks of all batches
 * @returns the number of deleted rows
 */
export async function deleteInBatches(
  database: Queryable,
  table: string,
  condition: Sql,
  size = batchSize,
): Promise<number> {
  const name = sql.id('basalt', table)
  for (let total = 0; ; ) {
    const count = await database.count(sql`
      delete from ${name} where ctid = any (array(
        select ctid from ${name} where ${condition} limit ${sql.integer(size)}
      ))`)
    total += count
    if (count < size) return total
  }
}
