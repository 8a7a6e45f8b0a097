import { sql } from './sql.ts'
import type { Queryable } from './system-database.ts'

/** Waits for the advisory lock of this name, and holds it until the transaction ends. */
export async function takeTransactionLock(database: Queryable, name: string): Promise<void> {
  await database.count(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`)
}
