import { anonymousRole, callerRole } from '../../caller/caller-scope.ts'
import { type Sql, sql } from '../../sql.ts'

/** The role callers work as; NULL, which has no privileges, in a database that Basalt has not prepared yet. */
export const caller: Sql = sql`(select oid from pg_roles where rolname = ${callerRole})`

/** The role of requests without a token, likewise; NULL also where the login role cannot act as it. */
export const anonymous: Sql = sql`(
  select oid from pg_roles where rolname = ${anonymousRole} and pg_has_role(oid, 'member')
)`

/**
 * Privileges in a list of grants that name the role of requests without a token, or one it belongs to. What PUBLIC may
 * do does not count: PostgreSQL grants it the execution of every function.
 *
 * @param acl of type `aclitem[]`
 */
export function anonymousPrivileges(acl: Sql): Sql {
  return sql`
    select g.privilege_type
    from aclexplode(${acl}) g
    where g.grantee <> 0 and pg_has_role(${anonymous}, g.grantee, 'usage')`
}
