import type { Connection } from '../connection/connection.ts'
import { type Sql, sql } from '../sql.ts'
import { inTransaction, type Queryable } from '../system-database.ts'

/** Key of the advisory lock that lets one node prepare the database while the others wait. */
export const preparationLock = 0x6261_736c_0001n // "basl", 1

/**
 * Runs a preparation step in one transaction, one node at a time. An advisory lock is limited to one database
 * (PostgreSQL, Advisory Locks). Roles need more than this lock, because all databases of a cluster share them.
 */
export function inPreparation<Result>(
  connection: Connection,
  work: (transaction: Queryable) => Promise<Result>,
): Promise<Result> {
  return inTransaction(connection, async (transaction) => {
    // The isolation level is fixed whatever the database's default: after the wait for the lock, the
    // transaction must see the holder's changes.
    await transaction.count(sql`set transaction isolation level read committed, read write`)
    await transaction.count(sql`select pg_advisory_xact_lock(${String(preparationLock)}::bigint)`)
    return await work(transaction)
  })
}

/** Query that blocks preparations until the session ends. */
export const shareLockOfPreparation: Sql = sql`select pg_advisory_lock_shared(${String(preparationLock)}::bigint)`
