import { type Sql, sql } from '../../sql.ts'
import type { RelationRow } from './relations.ts'

/** Condition that a view runs with the rights of its caller, as PostgreSQL reads the option. */
const isInvokers = sql`exists (
  select from pg_options_to_table(c.reloptions) o
  where o.option_name = 'security_invoker' and o.option_value::boolean
)`

/**
 * Builds the query of the first relation without row-level security among the sources of each relation's rows.
 * That is the relation itself, or one that a view with the rights of its caller reads. A view with the rights
 * of its owner is one itself.
 */
export function rlsGapsQuery(schemas: readonly string[]): Sql {
  return sql`
    with recursive reached (root, oid) as (
      select c.oid, c.oid
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any (${schemas}) and c.relkind in ('r', 'p', 'v', 'm', 'f')
      union
      select r.root, d.refobjid
      from reached r
      join pg_class c on c.oid = r.oid and c.relkind = 'v' and ${isInvokers}
      join pg_rewrite w on w.ev_class = c.oid
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
        and d.refclassid = 'pg_class'::regclass and d.refobjid <> c.oid
    )
    select distinct on (r.root) r.root::int8 as relation_oid,
      n.nspname as schema,
      c.relname as name,
      c.relkind as kind
    from reached r
    join pg_class c on c.oid = r.oid
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname not in ('pg_catalog', 'information_schema')
      and case c.relkind
        when 'r' then not c.relrowsecurity
        when 'p' then not c.relrowsecurity
        when 'v' then not ${isInvokers}
        else c.relkind in ('m', 'f')
      end
    order by r.root, n.nspname, c.relname`
}

export interface RlsGapRow {
  readonly relation_oid: string
  readonly schema: string
  readonly name: string
  readonly kind: RelationRow['kind']
}
