import type { Connection } from './connection/connection.ts'
import { givingWay } from './giving-way.ts'
import { onConnection } from './on-connection.ts'
import type { Database } from './open.ts'
import { sql } from './sql.ts'
import { inTransaction, type Queryable } from './system-database.ts'

/** Maximum build time of one index. */
const buildTimeoutMs = 6 * 3_600_000

export interface IndexWork<Result> {
  /** Locks the work for the transaction; returns false while another session holds the lock. */
  readonly tryLock: (transaction: Queryable) => Promise<boolean>
  readonly signal: AbortSignal
  readonly run: (worker: Connection) => Promise<Result>
}

/**
 * Builds indexes in the background on a connection beside the pools. The build gives way to statements that
 * change the tables.
 *
 * @returns undefined when another session holds the lock
 * @throws GaveWay, and errors of the work
 */
export async function buildIndexes<Result>(
  { system, aside, engine }: Pick<Database, 'system' | 'aside' | 'engine'>,
  { tryLock, signal, run }: IndexWork<Result>,
): Promise<Result | undefined> {
  signal.throwIfAborted()
  // A concurrent build cannot be part of a transaction, so another connection holds the lock meanwhile.
  const holder = await aside.open()
  try {
    return await inTransaction(holder, async (transaction) => {
      await transaction.one(sql`select set_config('idle_in_transaction_session_timeout', '0', true)`)
      if (!(await tryLock(transaction))) return undefined
      signal.throwIfAborted()
      return await onConnection(aside, await aside.open(), signal, async (worker) => {
        // A pooler would keep the setting for its other clients, and its session that blocks is another each time.
        if (engine.isPooled) return await run(worker)
        await worker.query(sql`select set_config('statement_timeout', ${String(buildTimeoutMs)}, false)`)
        return await givingWay({ system, aside, to: 'all' }, worker, () => run(worker))
      })
    })
  } finally {
    await holder.close()
  }
}
