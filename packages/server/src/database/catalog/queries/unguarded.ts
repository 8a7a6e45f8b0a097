import { type Sql, sql } from '../../sql.ts'
import { callerRole } from '../../user-database.ts'

/**
 * Relations whose rows no policy guards from signed-in callers. Where the role of the callers does not exist yet,
 * the first start grants it everything.
 */
export function unguardedQuery(schemas: readonly string[]): Sql {
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
      -- A view that asks with its caller's rights is guarded by the policies of what it reads.
      and not (c.relkind = 'v' and exists (
        select from pg_options_to_table(c.reloptions)
        where option_name = 'security_invoker' and option_value::bool))
      and (callers.oid is null or has_schema_privilege(callers.oid, n.oid, 'usage') and (
        has_any_column_privilege(callers.oid, c.oid, 'select, insert, update')
        or has_table_privilege(callers.oid, c.oid, 'delete')))
    order by n.nspname, c.relname`
}

export interface UnguardedRow {
  readonly oid: string
  /** As SQL writes it. */
  readonly name: string
  readonly kind: 'r' | 'p' | 'v' | 'm' | 'f'
}
