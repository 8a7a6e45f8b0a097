import { type Sql, sql } from '../../sql.ts'
import { isCataloged } from './cataloged.ts'

/** Builds the query of the parsed queries of views and materialized views. */
export function viewRulesQuery(schemas: readonly string[]): Sql {
  return sql`
    select c.oid::int8 as relation_oid, w.ev_action::text as rule
    from pg_rewrite w
    join pg_class c on c.oid = w.ev_class
    join pg_namespace n on n.oid = c.relnamespace
    where ${isCataloged(schemas)} and c.relkind in ('v', 'm') and w.ev_type = '1'
    order by c.oid`
}

export interface ViewRuleRow {
  readonly relation_oid: string
  /** Node tree, as PostgreSQL prints it. */
  readonly rule: string
}
