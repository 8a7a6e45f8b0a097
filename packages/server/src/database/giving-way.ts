import { setTimeout as delay } from 'node:timers/promises'
import type { Connection } from './connection/connection.ts'
import type { Database } from './open.ts'
import { sql } from './sql.ts'
import type { SystemDatabase } from './system-database.ts'

/** Shorter than `deadlock_timeout`, after which PostgreSQL fails one of the two statements, whichever it is. */
const lookMs = 200

/** Work of our own was cancelled, since a statement of others waited for it. */
export class GaveWay extends Error {
  constructor(options?: ErrorOptions) {
    super('gave way to a statement that changes the table', options)
  }
}

export interface GivingWay {
  readonly system: SystemDatabase
  readonly aside: Pick<Database['aside'], 'cancel'>
  /** Which statements the work makes room for: all that wait for it, or those that it waits for as well. */
  readonly to: 'all' | 'deadlocked'
}

/**
 * Runs long work in the background on a connection beside the pools, and cancels it as soon as another session waits for it
 * to change a table. Reads and writes of rows are no reason.
 *
 * @throws GaveWay, what the work throws
 */
export async function givingWay<Result>(
  { system, aside, to }: GivingWay,
  connection: Connection,
  work: () => Promise<Result>,
): Promise<Result> {
  const { rows } = await connection.query<{ pid: number }>(sql`select pg_backend_pid() as pid`)
  const pid = rows[0]?.pid
  // Behind a pooler statements need not be run where the connection leads.
  if (pid !== connection.backendPid) return await work()
  const ended = new AbortController()
  let hasGivenWay = false
  const watch = async () => {
    while (!ended.signal.aborted) {
      await delay(lookMs, undefined, { signal: ended.signal, ref: false })
      // A look that fails is followed by the next.
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
    // A cancel that is under way must not reach what the connection does next.
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
