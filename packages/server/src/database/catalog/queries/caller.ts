import { type Sql, sql } from '../../sql.ts'
import { callerRole } from '../../user-database.ts'

/** The role callers work as; NULL, which has no privileges, in a database that Basalt has not prepared yet. */
export const caller: Sql = sql`(select oid from pg_roles where rolname = ${callerRole})`
