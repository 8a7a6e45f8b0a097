import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { StructureObjects } from '../schemas.ts'
import { ownSchema } from './relations.ts'

/** Maximum number of objects per kind. A page shows no more, and the command palette has names. */
const most = 1000

const list = (columns: Sql, from: Sql, order: Sql): Sql => sql`
  (select coalesce(json_agg(x), '[]') from (select ${columns} from ${from} order by ${order} limit ${sql.integer(most)}) x)`

const isNoMember = (catalog: string, oid: Sql): Sql => sql`
  not exists (select from pg_depend e where e.classid = ${sql.literal(catalog)}::regclass and e.objid = ${oid}
    and e.deptype = 'e')`

const enums = list(
  sql`n.nspname as schema, t.typname as name, obj_description(t.oid, 'pg_type') as comment,
    (select coalesce(json_agg(enumlabel order by enumsortorder), '[]') from pg_enum where enumtypid = t.oid) as values,
    (select coalesce(json_agg(format('%s.%I', a.attrelid::regclass, a.attname) order by a.attrelid, a.attnum), '[]')
     from pg_attribute a join pg_class c on c.oid = a.attrelid and c.relkind in ('r', 'p', 'f')
     where a.atttypid in (t.oid, t.typarray) and not a.attisdropped) as "usedBy"`,
  sql`pg_type t join pg_namespace n on n.oid = t.typnamespace
    where t.typtype = 'e' and ${ownSchema} and ${isNoMember('pg_type', sql`t.oid`)}`,
  sql`n.nspname, t.typname`,
)

const domains = list(
  sql`n.nspname as schema, t.typname as name, format_type(t.typbasetype, t.typtypmod) as type,
    t.typnotnull as "isNotNull", t.typdefault as default,
    (select coalesce(json_agg(pg_get_constraintdef(k.oid) order by k.conname), '[]') from pg_constraint k
     where k.contypid = t.oid and k.contype = 'c') as checks`,
  sql`pg_type t join pg_namespace n on n.oid = t.typnamespace
    where t.typtype = 'd' and ${ownSchema} and ${isNoMember('pg_type', sql`t.oid`)}`,
  sql`n.nspname, t.typname`,
)

const compositeTypes = list(
  sql`n.nspname as schema, t.typname as name,
    (select coalesce(json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod))
       order by a.attnum), '[]')
     from pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped) as attributes`,
  sql`pg_type t join pg_namespace n on n.oid = t.typnamespace
    join pg_class c on c.oid = t.typrelid and c.relkind = 'c'
    where t.typtype = 'c' and ${ownSchema} and ${isNoMember('pg_type', sql`t.oid`)}`,
  sql`n.nspname, t.typname`,
)

const functions = list(
  sql`n.nspname as schema, p.proname as name, pg_get_function_identity_arguments(p.oid) as arguments,
    pg_get_function_result(p.oid) as returns, l.lanname as language,
    case p.prokind when 'p' then 'procedure' when 'a' then 'aggregate' else 'function' end as kind,
    p.prosecdef as "isSecurityDefiner",
    case when p.prokind <> 'a' then pg_get_functiondef(p.oid) end as definition`,
  sql`pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
    where ${ownSchema} and ${isNoMember('pg_proc', sql`p.oid`)}`,
  sql`n.nspname, p.proname, 3`,
)

const sequences = list(
  sql`s.schemaname as schema, s.sequencename as name, s.data_type::text as type,
    s.last_value::text as "lastValue", s.max_value::text as "maxValue", s.increment_by::text as increment,
    (select format('%s.%I', a.attrelid::regclass, a.attname) from pg_depend d
     join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
     where d.classid = 'pg_class'::regclass and d.objid = format('%I.%I', s.schemaname, s.sequencename)::regclass
       and d.deptype in ('a', 'i') limit 1) as "ownedBy"`,
  sql`pg_sequences s join pg_namespace n on n.nspname = s.schemaname where ${ownSchema}`,
  sql`s.schemaname, s.sequencename`,
)

/** Types for people to choose: the most frequent ones first, then their own, then the rest of PostgreSQL's. */
const columnTypes = sql`
  (select json_agg(x.name order by x.rank, x.name) from (
    select format_type(t.oid, null) as name,
      min(coalesce(array_position(array['text', 'bigint', 'integer', 'boolean', 'uuid', 'timestamptz', 'date', 'numeric',
        'jsonb', 'float8']::regtype[], t.oid::regtype), case when n.nspname = 'pg_catalog' then 200 else 100 end)) as rank
    from pg_type t
    join pg_namespace n on n.oid = t.typnamespace
    left join pg_class c on c.oid = t.typrelid
    where t.typtype in ('b', 'd', 'e', 'r', 'm', 'c') and t.typcategory <> 'A' and (c.oid is null or c.relkind = 'c')
      and n.nspname not in ('pg_toast', 'information_schema', 'basalt')
      and (n.nspname <> 'pg_catalog' or t.typname !~ '^(_|reg|pg_|oid|xid|cid|tid|aclitem|gtsvector|refcursor|int2vector|txid|name$|"char"|char$|bpchar)')
    group by 1) x)`

export async function readObjects(
  transaction: Queryable,
  served: readonly string[],
): Promise<StructureObjects> {
  return await transaction.one<StructureObjects & Record<string, unknown>>(sql`
    select ${list(
      sql`n.nspname as name, n.nspname = any (${served}) as "isServed"`,
      sql`pg_namespace n where ${ownSchema}`,
      sql`n.nspname`,
    )} as schemas,
      ${enums} as enums, ${domains} as domains, ${compositeTypes} as "compositeTypes", ${functions} as functions,
      ${sequences} as sequences,
      ${list(
        sql`e.extname as name, e.extversion as version, n.nspname as schema`,
        sql`pg_extension e join pg_namespace n on n.oid = e.extnamespace
          where e.extname <> 'plpgsql' and n.nspname <> 'basalt'`,
        sql`e.extname`,
      )} as extensions,
      ${columnTypes} as "columnTypes",
      (select json_agg(rolname order by rolname) from pg_roles where not starts_with(rolname, 'pg_')) as roles`)
}
