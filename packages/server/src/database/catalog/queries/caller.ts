import { anonymousRole, callerRole } from '../../caller/caller-scope.ts'
import { type Sql, sql } from '../../sql.ts'

/** Role of callers. It is NULL, without privileges, in a database that Basalt has not prepared yet. */
export const caller: Sql = sql`(select oid from pg_roles where rolname = ${callerRole})`

/** Role of requests without a token. It is NULL, too, where the login role cannot act as it. */
export const anonymous: Sql = sql`(
  select oid from pg_roles where rolname = ${anonymousRole} and pg_has_role(oid, 'member')
)`

/**
 * Builds a query for the privileges that a list of grants gives to the role of requests without a token, or to
 * its groups. Privileges of PUBLIC do not count, because PostgreSQL lets PUBLIC execute every function.
 *
 * @param acl of type `aclitem[]`
 */
export function anonymousPrivileges(acl: Sql): Sql {
  return sql`
    select g.privilege_type
    from aclexplode(${acl}) g
    where g.grantee <> 0 and pg_has_role(${anonymous}, g.grantee, 'usage')`
}
