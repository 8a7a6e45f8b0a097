import pg from 'pg'
import { whenLate } from '../../lib/timer.ts'
import { ConnectionLost } from '../errors/failures.ts'
import { sql } from '../sql.ts'
import type { Connection } from './connection.ts'

/** Time Postgres has to show, on a new connection, that it is there. */
const answerTimeoutMs = 3000

/** A backend may have ended its statement and its answer still be on the way. */
const transitSeconds = 2

/**
 * Of connections that have been silent for long, those that will stay so: a firewall has forgotten them, or the
 * machine behind them is gone, which TCP alone notices after minutes. A new connection tells that from a slow
 * statement: either Postgres cannot be reached, or its backends do not work on what we wait for.
 *
 * @param silent connections in use
 * @param knowsBackends false behind a pooler, which makes up the process ids
 */
export async function findDead(
  silent: readonly Connection[],
  open: () => Promise<Connection>,
  knowsBackends: boolean,
): Promise<readonly Connection[]> {
  let probe: Connection
  try {
    probe = await open()
  } catch (error) {
    return isRefusal(error) ? [] : silent
  }
  const cancel = whenLate(answerTimeoutMs, () => probe.destroy())
  try {
    if (!knowsBackends) return []
    const working = await listWorking(
      probe,
      silent.map(({ backendPid }) => backendPid),
    )
    return silent.filter(({ backendPid }) => !working.has(backendPid))
  } catch (error) {
    return error instanceof pg.DatabaseError ? [] : silent
  } finally {
    cancel()
    void probe.close()
  }
}

/** Whether Postgres can be reached at all, however busy it is. */
export async function isReachable(open: () => Promise<Connection>): Promise<boolean> {
  try {
    void (await open()).close()
    return true
  } catch (error) {
    return isRefusal(error)
  }
}

/** Process ids whose backends work, have just finished, or do not say. */
async function listWorking(probe: Connection, pids: readonly number[]): Promise<ReadonlySet<number>> {
  const { rows } = await probe.query<{ pid: number }>(sql`
    select pid
    from pg_stat_activity
    where pid = any (${pids}::int[])
      and (state is null or state not like 'idle%'
        or state_change > clock_timestamp() - make_interval(secs => ${transitSeconds}))`)
  return new Set(rows.map(({ pid }) => pid))
}

/** Returns whether Postgres answered, if only to say no: too many connections. It says 57P… while it starts or stops. */
export function isRefusal(error: unknown): boolean {
  const cause = error instanceof ConnectionLost ? error.cause : error
  return cause instanceof pg.DatabaseError && !cause.code?.startsWith('57P')
}
