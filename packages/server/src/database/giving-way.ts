import { setTimeout as delay } from 'node:timers/promises'
import type { Connection } from './connection/connection.ts'
import type { Database } from './open.ts'
import { sql } from './sql.ts'
import type { SystemDatabase } from './system-database.ts'

/**
 * Pause between two checks. It is shorter than `deadlock_timeout`, after which PostgreSQL fails either of the
 * two statements.
 */
const checkMs = 200

/** Thrown when our own work was cancelled because another statement waited for it. */
export class GaveWay extends Error {
  constructor(options?: ErrorOptions) {
    super('gave way to a statement that changes the table', options)
  }
}

export interface GivingWay {
  readonly system: SystemDatabase
  readonly aside: Pick<Database['aside'], 'cancel'>
  /** Statements that the work gives way to: all that wait for it, or only those in a deadlock with it. */
  readonly to: 'all' | 'deadlocked'
}

/**
 * Runs long work in the background on a connection beside the pools. It cancels the work as soon as another
 * session waits to change the table. Reads and writes of rows do not cancel it.
 *
 * @throws GaveWay, and errors of the work
 */
export async function givingWay<Result>(
  { system, aside, to }: GivingWay,
  connection: Connection,
  work: () => Promise<Result>,
): Promise<Result> {
  const { rows } = await connection.query<{ pid: number }>(sql`select pg_backend_pid() as pid`)
  const pid = rows[0]?.pid
  // A pooler may run the statements on another server.
  if (pid !== connection.backendPid) return await work()
  const ended = new AbortController()
  let hasGivenWay = false
  const watch = async () => {
    while (!ended.signal.aborted) {
      await delay(checkMs, undefined, { signal: ended.signal, ref: false })
      // A failed check is followed by the next one.
      const blocks = await isInTheWay(system, pid, to).catch(() => false)
      if (!blocks || ended.signal.aborted) continue
      hasGivenWay = true
      await aside.cancel(connection)
    }
  }
  const watching = watch().catch(() => undefined)
  try {
    return await work()
  } catch (error) {
    throw hasGivenWay ? new GaveWay({ cause: error }) : error
  } finally {
    ended.abort()
    // A cancellation in flight must not reach the next statement of the connection.
    await watching
  }
}

async function isInTheWay(system: SystemDatabase, pid: number, to: GivingWay['to']): Promise<boolean> {
  const isMutual = to === 'all' ? sql`true` : sql`l.pid = any (pg_blocking_pids(${pid}))`
  const { is_in_the_way } = await system.one<{ is_in_the_way: boolean }>(sql`
    select exists (
      select from pg_locks l
      join pg_stat_activity a on a.pid = l.pid and a.backend_type = 'client backend'
      where not l.granted and l.locktype = 'relation' and l.pid <> ${pid}
        and l.mode in ('ShareUpdateExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
        and ${pid} = any (pg_blocking_pids(l.pid)) and ${isMutual}
    ) as is_in_the_way`)
  return is_in_the_way
}
