import { setTimeout as delay } from 'node:timers/promises'
import { sql } from './sql.ts'
import type { SystemDatabase } from './system-database.ts'

/** Time until a new or ended session of this process is known. */
const settleMs = 25
const attempts = 3

/**
 * Returns true if no session of the database belongs to another Basalt: a second node, or a command.
 *
 * @param own process ids of the sessions of this process
 */
export async function isOnlyProgram(database: SystemDatabase, own: ReadonlySet<number>): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    // Every role can see the names of all sessions (PostgreSQL, pg_stat_activity), but not the kind of each.
    const others = await database.many<{ pid: number }>(sql`
      select pid from pg_stat_activity
      where datname = current_database() and starts_with(application_name, 'basalt ')
        and coalesce(backend_type, 'client backend') = 'client backend'`)
    if (others.every(({ pid }) => own.has(pid))) return true
    if (attempt === attempts) return false
    await delay(settleMs)
  }
}
