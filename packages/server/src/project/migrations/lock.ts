import { setTimeout as delay } from 'node:timers/promises'
import type { Connection } from '../../database/connection/connection.ts'
import type { inPreparation } from '../../database/preparation/preparation.ts'
import { sql } from '../../database/sql.ts'
import { inTransaction, type Queryable, queryableOn } from '../../database/system-database.ts'

/** Key of the advisory lock that lets one node migrate while the others wait. */
const migrationLock = String(0x6261_736c_0002n) // "basl", 2

/**
 * Poll interval of the lock. A transaction that waited inside PostgreSQL would hold a snapshot. `create index
 * concurrently` of the migrating node would wait for it in turn.
 */
const pollMs = 100

/**
 * Runs the work in a transaction that holds the lock. That works behind a transaction pooler, too.
 *
 * @param begin runs the transaction; {@link inPreparation} for one that also prepares the database
 */
export async function inMigrationTransaction<Result>(
  connection: Connection,
  work: (transaction: Queryable) => Promise<Result>,
  begin: typeof inPreparation = inTransaction,
): Promise<Result> {
  for (;;) {
    const outcome = await begin(connection, async (transaction) => {
      const isOurs = await transaction.one<{ locked: boolean }>(
        sql`select pg_try_advisory_xact_lock(${migrationLock}::bigint) as locked`,
      )
      return isOurs.locked ? { result: await work(transaction) } : undefined
    })
    if (outcome !== undefined) return outcome.result
    await delay(pollMs)
  }
}

/** Runs the work on a session with the lock, for statements that cannot be in a transaction. */
export async function withMigrationLock<Result>(
  connection: Connection,
  work: (session: Queryable) => Promise<Result>,
): Promise<Result> {
  const session = queryableOn(connection)
  const locks = sql`select pg_try_advisory_lock(${migrationLock}::bigint) as locked`
  while (!(await session.one<{ locked: boolean }>(locks)).locked) await delay(pollMs)
  try {
    return await work(session)
  } finally {
    // The lock ends with the session, too.
    await session.count(sql`select pg_advisory_unlock(${migrationLock}::bigint)`).catch(() => undefined)
  }
}
