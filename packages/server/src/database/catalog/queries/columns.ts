import { type Sql, sql, type TypeName } from '../../sql.ts'
import { anonymousPrivileges, caller } from './caller.ts'
import { isCataloged } from './cataloged.ts'

/** Builds the query of the columns in table order. */
export function columnsQuery(schemas: readonly string[]): Sql {
  return sql`
    select a.attrelid::int8 as relation_oid,
      a.attname as name,
      a.attnum::int as position,
      format_type(a.atttypid, a.atttypmod) as type,
      a.atttypid::int8 as type_oid,
      -- A NOT NULL that is not validated (PostgreSQL 18) does not apply to existing rows.
      not a.attnotnull or exists (
        select from pg_constraint k
        where k.conrelid = a.attrelid and k.contype = 'n' and k.conkey = array[a.attnum] and not k.convalidated
      ) as nullable,
      -- PostgreSQL would lock a named table, and a default names no columns.
      case when a.attgenerated = '' then pg_get_expr(d.adbin, 0) end as default,
      a.attidentity as identity,
      a.attgenerated as generated,
      col_description(a.attrelid, a.attnum) as comment,
      coalesce(has_column_privilege(${caller}, a.attrelid, a.attnum, 'select'), false) as can_select,
      coalesce(has_column_privilege(${caller}, a.attrelid, a.attnum, 'insert'), false) as can_insert,
      coalesce(has_column_privilege(${caller}, a.attrelid, a.attnum, 'update'), false) as can_update,
      array(
        ${anonymousPrivileges(sql`c.relacl`)} union all ${anonymousPrivileges(sql`a.attacl`)}
      ) as anonymous_privileges,
      a.xmin::text as version
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid
    join pg_namespace n on n.oid = c.relnamespace
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where ${isCataloged(schemas)} and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and a.attnum > 0 and not a.attisdropped
    order by a.attrelid, a.attnum`
}

export interface ColumnRow {
  readonly relation_oid: string
  readonly name: string
  readonly position: number
  readonly type: TypeName
  readonly type_oid: string
  /** True if rows may contain NULL. */
  readonly nullable: boolean
  /** Null for a generated column, too. */
  readonly default: string | null
  readonly identity: '' | 'a' | 'd'
  readonly generated: '' | 's' | 'v'
  readonly comment: string | null
  readonly can_select: boolean
  readonly can_insert: boolean
  readonly can_update: boolean
  /** Privileges of requests without a token. */
  readonly anonymous_privileges: readonly string[]
  /** Transaction of its last definition. */
  readonly version: string
}
