import { anonymousRole, callerRole } from '../../../database/caller/caller-scope.ts'
import { naturally } from '../../../database/natural-order.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { RelationSummary } from '../schemas.ts'

export interface RelationFilter {
  readonly schema?: string | undefined
  /** Part of the name. */
  readonly q?: string | undefined
  /** Last name of the previous page, as schema and name. */
  readonly after?: readonly [string, string] | undefined
  readonly limit: number
}

/** Condition that the schema belongs to neither PostgreSQL nor Basalt. */
export const ownSchema = sql`n.nspname not like 'pg\\_%' and n.nspname not in ('information_schema', 'basalt')`

/**
 * Condition on `c` in the schema `n`. Partitions are found by their table, and objects of an extension by the
 * extension.
 */
export const ownTable = sql`
  not c.relispartition and ${ownSchema}
    and not exists (
      select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`

const kindOf = sql`
  case c.relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view'
    when 'm' then 'materialized view' when 'f' then 'foreign table' end`

/** Order of lists, on `c` in the schema `n`. */
export const byName = sql`${naturally(sql`n.nspname`)}, ${naturally(sql`c.relname`)}`

/** Builds the privileges of a role that may lack the schema, too. */
const privilegesOf = (role: string): Sql => sql`
  case when has_schema_privilege(${role}::name, c.relnamespace, 'usage') then array_remove(array[
    case when has_any_column_privilege(${role}::name, c.oid, 'select') then 'select' end,
    case when has_any_column_privilege(${role}::name, c.oid, 'insert') then 'insert' end,
    case when has_any_column_privilege(${role}::name, c.oid, 'update') then 'update' end,
    case when has_table_privilege(${role}::name, c.oid, 'delete') then 'delete' end], null)
  else '{}' end`

/** Builds the columns of a {@link RelationSummary}, of `c` in the schema `n`. */
export const summaryOf = (served: readonly string[]): Sql => sql`
  n.nspname as schema, c.relname as name, ${kindOf} as kind,
    obj_description(c.oid, 'pg_class') as comment,
    case when c.reltuples >= 0 and c.relkind not in ('v', 'f') then c.reltuples::float8 end as "estimatedRows",
    case when c.relkind in ('r', 'm') then pg_total_relation_size(c.oid) else 0 end::float8 as bytes,
    c.relrowsecurity as "isRlsEnabled", c.relforcerowsecurity as "isRlsForced",
    (select count(*)::int from pg_policy p where p.polrelid = c.oid) as "policyCount",
    to_json(coalesce(c.reloptions, '{}')) as options,
    exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary) as "hasPrimaryKey",
    n.nspname = any (${served}) as "isServed",
    json_build_object('authenticated', ${privilegesOf(callerRole)}, 'anonymous', ${privilegesOf(anonymousRole)})
      as callers`

export async function listRelations(
  database: Queryable,
  { schema, q, after, limit }: RelationFilter,
  served: readonly string[],
): Promise<RelationSummary[]> {
  const [afterSchema, afterName] = [0, 1].map((index) => naturally(sql`${after?.[index] ?? null}`))
  return await database.many<RelationSummary & Record<string, unknown>>(sql`
    select ${summaryOf(served)}
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and ${ownTable}
      and (${schema ?? null}::text is null or n.nspname = ${schema ?? null})
      and (${q ?? null}::text is null or position(lower(${q ?? null}) in lower(c.relname)) > 0)
      and (${after?.[0] ?? null}::text is null or (${byName}) > (${afterSchema}, ${afterName}))
    order by ${byName}
    limit ${limit}`)
}
