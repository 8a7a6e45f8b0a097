import { captureTriggerPrefix } from '../../../database/change-log.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { RelationDetail } from '../schemas.ts'
import { ownSchema, summaryOf } from './relations.ts'

/** Builds a JSON array of the rows, in their order. */
const list = (columns: Sql, from: Sql, order: Sql): Sql => sql`
  (select coalesce(json_agg(x), '[]') from (select ${columns} from ${from} order by ${order}) x)`

const namesOf = (relation: Sql, numbers: Sql): Sql => sql`
  (select coalesce(json_agg(a.attname order by u.ordinal), '[]') from unnest(${numbers}) with ordinality u (num, ordinal)
   join pg_attribute a on a.attrelid = ${relation} and a.attnum = u.num)`

// A default names no column. With the relation, PostgreSQL would read all of its columns for each.
const columns = list(
  sql`a.attname as name, format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as "isNullable",
    case when a.attgenerated = '' then pg_get_expr(d.adbin, 0) end as default,
    case a.attidentity when 'a' then 'always' when 'd' then 'by default' end as identity,
    case when a.attgenerated <> '' then pg_get_expr(d.adbin, d.adrelid) end as generated,
    col_description(a.attrelid, a.attnum) as comment`,
  sql`pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped`,
  sql`a.attnum`,
)

// NOT NULL belongs to the column.
const constraints = list(
  sql`k.conname as name, case k.contype when 'p' then 'primary key' when 'u' then 'unique' when 'f' then 'foreign key'
      when 'x' then 'exclude' else 'check' end as kind,
    pg_get_constraintdef(k.oid) as definition, ${namesOf(sql`k.conrelid`, sql`k.conkey`)} as columns,
    k.convalidated as "isValidated",
    case when k.contype = 'f' then json_build_object('schema', rn.nspname, 'name', r.relname,
      'columns', ${namesOf(sql`k.confrelid`, sql`k.confkey`)}) end as references`,
  sql`pg_constraint k
    left join pg_class r on r.oid = nullif(k.confrelid, 0)
    left join pg_namespace rn on rn.oid = r.relnamespace
    where k.conrelid = c.oid and k.contype in ('p', 'u', 'f', 'x', 'c')`,
  sql`array_position(array['p', 'u', 'f', 'c', 'x'], k.contype::text), k.conname`,
)

const indexes = list(
  sql`x.relname as name, pg_get_indexdef(i.indexrelid) as definition, m.amname as method,
    i.indisunique as "isUnique", i.indisprimary as "isPrimary", i.indisvalid as "isValid",
    (select conname from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x')) as constraint,
    pg_relation_size(i.indexrelid)::float8 as bytes,
    coalesce(s.idx_scan, 0)::float8 as scans, pg_get_expr(i.indpred, i.indrelid) as condition`,
  sql`pg_index i
    join pg_class x on x.oid = i.indexrelid
    join pg_am m on m.oid = x.relam
    left join pg_stat_user_indexes s on s.indexrelid = i.indexrelid
    where i.indrelid = c.oid`,
  sql`not i.indisprimary, x.relname`,
)

// Triggers that Basalt itself creates are none of the operator's.
const triggers = list(
  sql`t.tgname as name, pg_get_triggerdef(t.oid) as definition, t.tgfoid::regproc::text as function,
    t.tgenabled <> 'D' as "isEnabled"`,
  sql`pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal
    and not starts_with(t.tgname, ${captureTriggerPrefix})`,
  sql`t.tgname`,
)

const policies = list(
  sql`p.polname as name,
    case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete'
      else 'all' end as command,
    p.polpermissive as "isPermissive",
    (select json_agg(case r when 0 then 'public' else pg_get_userbyid(r) end order by r) from unnest(p.polroles) r)
      as roles,
    pg_get_expr(p.polqual, p.polrelid) as using, pg_get_expr(p.polwithcheck, p.polrelid) as check`,
  sql`pg_policy p where p.polrelid = c.oid`,
  sql`p.polname`,
)

const grants = list(
  sql`case a.grantee when 0 then 'public' else pg_get_userbyid(a.grantee) end as role,
    json_agg(lower(a.privilege_type) order by a.privilege_type) as privileges`,
  sql`aclexplode(c.relacl) a where a.grantee <> c.relowner group by a.grantee`,
  sql`1`,
)

const dependents = list(
  sql`d.kind, d.name`,
  sql`(
    select distinct case v.relkind when 'm' then 'materialized view' else 'view' end as kind,
      format('%I.%I', vn.nspname, v.relname) as name
    from pg_depend p
    join pg_rewrite r on r.oid = p.objid
    join pg_class v on v.oid = r.ev_class and v.oid <> c.oid
    join pg_namespace vn on vn.oid = v.relnamespace
    where p.classid = 'pg_rewrite'::regclass and p.refclassid = 'pg_class'::regclass and p.refobjid = c.oid
    union
    select 'foreign key', format('%s of %I.%I', quote_ident(k.conname), kn.nspname, kc.relname)
    from pg_constraint k
    join pg_class kc on kc.oid = k.conrelid
    join pg_namespace kn on kn.oid = kc.relnamespace
    where k.contype = 'f' and k.confrelid = c.oid and k.conrelid <> c.oid and k.conparentid = 0
    union
    select 'policy', format('%I of %I.%I', p.polname, qn.nspname, q.relname)
    from pg_depend d
    join pg_policy p on p.oid = d.objid and p.polrelid <> c.oid
    join pg_class q on q.oid = p.polrelid
    join pg_namespace qn on qn.oid = q.relnamespace
    where d.classid = 'pg_policy'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = c.oid) d`,
  sql`d.kind, d.name`,
)

const partitions = list(
  sql`pn.nspname as schema, p.relname as name, pg_get_expr(p.relpartbound, p.oid) as bound,
    case when p.reltuples >= 0 then p.reltuples::float8 end as "estimatedRows",
    case when p.relkind = 'r' then pg_total_relation_size(p.oid) else 0 end::float8 as bytes`,
  sql`pg_inherits i
    join pg_class p on p.oid = i.inhrelid and p.relispartition
    join pg_namespace pn on pn.oid = p.relnamespace
    where i.inhparent = c.oid`,
  sql`pg_get_expr(p.relpartbound, p.oid) = 'DEFAULT', p.relname`,
)

export async function findRelationDetail(
  transaction: Queryable,
  { schema, name }: { readonly schema: string; readonly name: string },
  served: readonly string[],
): Promise<RelationDetail | undefined> {
  return await transaction.maybeOne<RelationDetail & Record<string, unknown>>(sql`
    select ${summaryOf(served)}, pg_get_userbyid(c.relowner) as owner,
      case when c.relkind = 'p' then pg_get_partkeydef(c.oid) end as "partitionKey",
      case when c.relispartition then (
        select json_build_object('schema', pn.nspname, 'name', p.relname)
        from pg_inherits i join pg_class p on p.oid = i.inhparent join pg_namespace pn on pn.oid = p.relnamespace
        where i.inhrelid = c.oid) end as "partitionOf",
      ${partitions} as partitions,
      case when c.relkind in ('r', 'm') then pg_table_size(c.oid) else 0 end::float8 as "tableBytes",
      case when c.relkind in ('r', 'm') then pg_indexes_size(c.oid) else 0 end::float8 as "indexBytes",
      ${columns} as columns, ${constraints} as constraints, ${indexes} as indexes, ${triggers} as triggers,
      ${policies} as policies, ${grants} as grants, ${dependents} as dependents,
      case when c.relkind in ('v', 'm') then pg_get_viewdef(c.oid) end as query
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relname = ${name} and c.relkind in ('r', 'p', 'v', 'm', 'f') and ${ownSchema}`)
}
