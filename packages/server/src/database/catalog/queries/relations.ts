import { type Sql, sql } from '../../sql.ts'
import { anonymous, anonymousPrivileges, caller } from './caller.ts'
import { isCataloged } from './cataloged.ts'

/**
 * Builds the query of tables, partitioned tables, views, materialized views and foreign tables, with the
 * privileges of callers with and without a token.
 */
export function relationsQuery(schemas: readonly string[]): Sql {
  return sql`
    select c.oid::int8 as oid,
      n.nspname as schema,
      c.relname as name,
      c.relkind as kind,
      obj_description(c.oid, 'pg_class') as comment,
      c.relrowsecurity as rls_enabled,
      c.relkind = 'r' and c.relhassubclass as has_descendants,
      case when c.relispartition then pg_partition_root(c.oid)::oid::int8 end as partition_of,
      exists (
        select from pg_depend d
        where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.objsubid = 0 and d.deptype = 'e'
      ) as is_of_extension,
      not row_security_active(c.oid) as is_bypassed,
      coalesce(has_schema_privilege(${caller}, n.oid, 'usage'), false) as schema_usable,
      coalesce(has_any_column_privilege(${caller}, c.oid, 'select'), false) as can_select,
      coalesce(has_table_privilege(${caller}, c.oid, 'select'), false) as can_select_all,
      coalesce(has_any_column_privilege(${caller}, c.oid, 'insert'), false) as can_insert,
      coalesce(has_any_column_privilege(${caller}, c.oid, 'update'), false) as can_update,
      coalesce(has_table_privilege(${caller}, c.oid, 'delete'), false) as can_delete,
      coalesce(has_schema_privilege(${anonymous}, n.oid, 'usage'), false) as anonymous_schema_usable,
      array(
        ${anonymousPrivileges(sql`c.relacl`)}
        union
        select g.privilege_type
        from pg_attribute a
        cross join lateral (${anonymousPrivileges(sql`a.attacl`)}) g
        where a.attrelid = c.oid and a.attacl is not null and not a.attisdropped
      ) as anonymous_privileges,
      'SELECT' in (${anonymousPrivileges(sql`c.relacl`)}) as anonymous_can_select_all
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    where ${isCataloged(schemas)} and c.relkind in ('r', 'p', 'v', 'm', 'f')
    order by n.nspname, c.relname`
}

export interface RelationRow {
  readonly oid: string
  readonly schema: string
  readonly name: string
  readonly kind: 'r' | 'p' | 'v' | 'm' | 'f'
  readonly comment: string | null
  readonly rls_enabled: boolean
  readonly has_descendants: boolean
  /** Root table of a partition. */
  readonly partition_of: string | null
  readonly is_of_extension: boolean
  readonly is_bypassed: boolean
  readonly schema_usable: boolean
  readonly can_select: boolean
  readonly can_select_all: boolean
  readonly can_insert: boolean
  readonly can_update: boolean
  readonly can_delete: boolean
  readonly anonymous_schema_usable: boolean
  /** Privileges such as `SELECT`, on the relation or on one of its columns. */
  readonly anonymous_privileges: readonly string[]
  readonly anonymous_can_select_all: boolean
}
