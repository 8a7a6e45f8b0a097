import { type Sql, sql, type TypeName } from '../../sql.ts'
import type { OwnOperator } from '../model.ts'
import { isCataloged } from './cataloged.ts'
import { isServedFunction } from './functions.ts'

/**
 * Builds the query of the types of all exposed columns and of functions' arguments and results. It includes
 * their parts: bases of domains, elements of arrays, attributes.
 */
export function typesQuery(schemas: readonly string[]): Sql {
  return sql`
    with recursive used as (
      -- Here and below PostgreSQL expects ten elements of an array. Otherwise it expects the types that all functions may
      -- name, allocates memory for millions, and compiles the statement where it can (PostgreSQL, JIT).
      select oid
      from unnest(array(
        select a.atttypid
        from pg_attribute a
        join pg_class c on c.oid = a.attrelid
        join pg_namespace n on n.oid = c.relnamespace
        where ${isCataloged(schemas)} and c.relkind in ('r', 'p', 'v', 'm', 'f')
          and a.attnum > 0 and not a.attisdropped
        union
        select unnest(p.prorettype || coalesce(p.proallargtypes, p.proargtypes::oid[]))
        from pg_proc p
        join pg_namespace n on n.oid = p.pronamespace
        where ${isServedFunction(schemas)}
      )) oid
      union
      select part.oid
      from used
      join pg_type t on t.oid = used.oid
      cross join lateral (
        select m.atttypid from pg_attribute m
        where m.attrelid = t.typrelid and m.attnum > 0 and not m.attisdropped
        union all
        values (t.typbasetype), (t.typelem)
      ) part (oid)
      where part.oid <> 0
    )
    select t.oid::int8 as oid,
      t.typname as name,
      t.xmin::text as version,
      (select n.nspname from pg_namespace n where n.oid = t.typnamespace) as schema,
      -- With the modifier -1 rather than null: bpchar, not character, which would mean character(1).
      format_type(t.oid, -1) as full_name,
      t.typtype as kind,
      t.typcategory as category,
      t.typbasetype::int8 as base_oid,
      t.typnotnull as not_null,
      t.typdefault as default,
      -- Fixed-length types such as point have an element type without being arrays.
      case when t.typcategory = 'A' then t.typelem else 0 end::int8 as element_oid,
      exists (
        select from pg_operator o where o.oprname = '=' and o.oprleft = t.oid and o.oprright = t.oid
      ) as has_equality,
      k.family is not null as has_order,
      -- An operator of pg_catalog is found on any search path.
      (
        select json_object_agg(found.role, json_build_array(n.nspname, o.oprname))
        from (
          select (array['<', '<=', '=', '>=', '>'])[p.amopstrategy], p.amopopr
          from pg_amop p
          where p.amopfamily = k.family and p.amoplefttype = k.input and p.amoprighttype = k.input
          union all
          select o.oprname, o.oid
          from pg_operator o
          where o.oprleft = t.oid and o.oprright = t.oid
            and (o.oprname = '~~' or o.oprname = '=' and k.family is null)
        ) found (role, oid)
        join pg_operator o on o.oid = found.oid
        join pg_namespace n on n.oid = o.oprnamespace
        -- Rows compare by operators of their kind, which all exist.
        where t.typtype <> 'c' and n.nspname <> 'pg_catalog'
      ) as operators,
      (select array_agg(e.enumlabel::text order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid) as labels,
      (
        select json_agg(json_build_object(
          'name', m.attname, 'type', format_type(m.atttypid, m.atttypmod), 'type_oid', m.atttypid::int8::text,
          'version', m.xmin::text
        ) order by m.attnum)
        from pg_attribute m
        where m.attrelid = t.typrelid and m.attnum > 0 and not m.attisdropped
      ) as attributes
    from unnest(array(select oid from used)) used (oid)
    join pg_type t on t.oid = used.oid
    -- Operator class that sorts it: its own, else that of a type to which it is implicitly converted.
    left join lateral (
      select c.opcfamily as family, c.opcintype as input
      from pg_opclass c
      join pg_am m on m.oid = c.opcmethod and m.amname = 'btree'
      where t.typtype <> 'c' and c.opcdefault and (
        c.opcintype = t.oid or c.opcintype in (
          select x.casttarget from pg_cast x
          where x.castsource = t.oid and x.castmethod = 'b' and x.castcontext = 'i'
        )
      )
      order by c.opcintype <> t.oid
      limit 1
    ) k on true`
}

export interface TypeRow {
  readonly oid: string
  readonly name: string
  /** Transaction of its last definition. */
  readonly version: string
  readonly schema: string
  readonly full_name: TypeName
  readonly kind: 'b' | 'c' | 'd' | 'e' | 'p' | 'r' | 'm'
  readonly category: string
  readonly base_oid: string
  /** True for a domain that rejects NULL; its parts may reject NULL, too. */
  readonly not_null: boolean
  /** SQL of the default of a domain, or of one below it. */
  readonly default: string | null
  readonly element_oid: string
  /**
   * True if the type, or one to which it is implicitly converted, has `=` and `<`. Polymorphic kinds have none.
   */
  readonly has_equality: boolean
  readonly has_order: boolean
  /** Schema and name of the operators outside pg_catalog, by their function. */
  readonly operators: Partial<Record<OwnOperator, readonly [schema: string, name: string]>> | null
  readonly labels: string[] | null
  /** Attributes of a composite type; null when it has none. */
  readonly attributes:
    | {
        readonly name: string
        readonly type: TypeName
        readonly type_oid: string
        readonly version: string
      }[]
    | null
}
