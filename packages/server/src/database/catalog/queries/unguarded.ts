import { callerRole } from '../../caller/caller-scope.ts'
import { type Sql, sql } from '../../sql.ts'

/** Query that returns whether a start has prepared the database, as {@link openedSchemasQuery} requires. */
export const isPreparedQuery: Sql = sql`select to_regclass('basalt.opened_schemas') is not null as prepared`

/**
 * Query of the schemas whose relations were granted to callers once. The next start grants those of other
 * schemas.
 */
export const openedSchemasQuery: Sql = sql`select schema_name from basalt.opened_schemas`

/**
 * Builds the query of relations whose rows no policy guards from signed-in callers.
 *
 * @param opened schemas whose current grants decide; in the others the next start grants everything
 */
export function unguardedQuery(schemas: readonly string[], opened: readonly string[]): Sql {
  return sql`
    select c.oid::int8 as oid,
      case n.nspname when 'public' then '' else quote_ident(n.nspname) || '.' end || quote_ident(c.relname) as name,
      c.relkind as kind
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    left join pg_roles callers on callers.rolname = ${callerRole}
    where n.nspname = any (${schemas})
      and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and not c.relrowsecurity
      -- A view with its caller's rights is guarded by the policies of the tables that it reads.
      and not (c.relkind = 'v' and exists (
        select from pg_options_to_table(c.reloptions)
        where option_name = 'security_invoker' and option_value::bool))
      and (not n.nspname = any (${opened}) or has_schema_privilege(callers.oid, n.oid, 'usage') and (
        has_any_column_privilege(callers.oid, c.oid, 'select, insert, update')
        or has_table_privilege(callers.oid, c.oid, 'delete')))
    order by n.nspname, c.relname`
}

export interface UnguardedRow {
  readonly oid: string
  /** Name in SQL. */
  readonly name: string
  readonly kind: 'r' | 'p' | 'v' | 'm' | 'f'
}
