import pg from 'pg'
import { whenLate } from '../../lib/timer.ts'
import { ConnectionLost } from '../errors/failures.ts'
import { sql } from '../sql.ts'
import type { Connection } from './connection.ts'

/** Time within which Postgres must accept a new connection. */
const answerTimeoutMs = 3000

/** Time after the end of a statement in which its result may still be on its way. */
const transitSeconds = 2

/**
 * Returns the dead connections among those that have been silent for long. A firewall has dropped them, or
 * their machine has disappeared, which TCP alone notices after minutes. A new connection distinguishes that
 * from a slow statement: either Postgres is unavailable, or its backends do not run our statements.
 *
 * @param silent connections in use
 * @param knowsBackends false behind a pooler, which invents the process ids
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

/** Returns true if Postgres can be reached at all, whatever its load. */
export async function isReachable(open: () => Promise<Connection>): Promise<boolean> {
  try {
    void (await open()).close()
    return true
  } catch (error) {
    return isRefusal(error)
  }
}

/** Returns the process ids of backends that work, have just finished, or do not show their state. */
async function listWorking(probe: Connection, pids: readonly number[]): Promise<ReadonlySet<number>> {
  const { rows } = await probe.query<{ pid: number }>(sql`
    select pid
    from pg_stat_activity
    where pid = any (${pids}::int[])
      and (state is null or state not like 'idle%'
        or state_change > clock_timestamp() - make_interval(secs => ${transitSeconds}))`)
  return new Set(rows.map(({ pid }) => pid))
}

/**
 * Returns true if Postgres responded, even with a rejection such as too many connections. It responds with 57P…
 * while it starts or stops.
 */
export function isRefusal(error: unknown): boolean {
  const cause = error instanceof ConnectionLost ? error.cause : error
  return cause instanceof pg.DatabaseError && !cause.code?.startsWith('57P')
}
