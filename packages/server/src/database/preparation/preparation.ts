import type { Connection } from '../connection/connection.ts'
import { type Sql, sql } from '../sql.ts'
import { inTransaction, type Queryable } from '../system-database.ts'

/** Key of the advisory lock that lets one node prepare the database while the others wait. */
export const preparationLock = 0x6261_736c_0001n // "basl", 1

/**
 * Runs a step of preparing the database in one transaction, one node at a time. Advisory locks are those of one
 * database (PostgreSQL, Advisory Locks): roles, which all databases of a cluster share, need more than this.
 */
export function inPreparation<Result>(
  connection: Connection,
  work: (transaction: Queryable) => Promise<Result>,
): Promise<Result> {
  return inTransaction(connection, async (transaction) => {
    // Whatever the database's default: who has waited for the lock must see what its holder did.
    await transaction.count(sql`set transaction isolation level read committed, read write`)
    await transaction.count(sql`select pg_advisory_xact_lock(${String(preparationLock)}::bigint)`)
    return await work(transaction)
  })
}

/** Keeps preparations from beginning until the session ends. */
export const shareLockOfPreparation: Sql = sql`select pg_advisory_lock_shared(${String(preparationLock)}::bigint)`
