import { anonymousRole, callerRole } from '../caller/caller-scope.ts'
import { attempt } from '../logins/attempt.ts'
import { sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'

/**
 * Lets the roles of callers log in. Citus reaches its workers as the current role, and carries the attribute to
 * all nodes, including those that join later. The roles have no password, so `pg_hba.conf` decides who may use
 * them. Where the login role may not alter them, the proof of the context names the remedy.
 */
export async function letCallersReachWorkers(transaction: Queryable): Promise<void> {
  const lacking = await transaction.many<{ rolname: string }>(sql`
    select rolname from pg_roles where rolname in (${callerRole}, ${anonymousRole}) and not rolcanlogin order by 1`)
  for (const { rolname } of lacking) await attempt(transaction, sql`alter role ${sql.id(rolname)} login`)
}
