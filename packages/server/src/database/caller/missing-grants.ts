import type { Connection } from '../connection/connection.ts'
import { sql } from '../sql.ts'
import { callerRole } from './caller-scope.ts'

/** What a role of the operator's has to grant before its tables can be served. */
export interface MissingGrant {
  /** Who may run the statement; a superuser may, too. */
  readonly owner: string
  /** `orders.invoice`, quoted where SQL needs it; empty when only the schema is closed. */
  readonly tables: readonly string[]
  readonly statement: string
}

/**
 * Finds what the login role cannot read, or callers cannot use, of the exposed schemas because it belongs to a role
 * whose rights the login role does not have. What it could grant itself was left out by the operator.
 */
export async function findMissingGrants(
  connection: Connection,
  schemas: readonly string[],
): Promise<MissingGrant[]> {
  const { rows } = await connection.query<{
    owner: string
    tables: string[]
    statement: string
  }>(sql`
    with exposed as (
      select oid, nspname, nspowner
      from pg_namespace
      where nspname = any (${schemas})
    ),
    missing as (
      select oid as object, nspowner as owner, 'schema' as kind, quote_ident(nspname) as name
      from exposed
      where not has_schema_privilege(oid, 'usage with grant option')
        and not (has_schema_privilege(oid, 'usage') and has_schema_privilege(${callerRole}, oid, 'usage'))
      union all
      select c.oid, c.relowner, 'table', format('%I.%I', nspname, relname)
      from pg_class c
      join exposed on exposed.oid = relnamespace
      where relkind in ('r', 'p', 'v', 'm', 'f')
        and not pg_has_role(relowner, 'usage')
        and not exists (
          select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e'
        )
        and not (
          has_any_column_privilege(c.oid, 'select')
          and (
            has_any_column_privilege(${callerRole}, c.oid, 'select, insert, update')
            or has_table_privilege(${callerRole}, c.oid, 'delete')
          )
        )
    ),
    granted as (
      select owner, kind, name from missing
      union all
      -- The sequences of serial columns; those of identity columns need no privilege.
      select owner, 'sequence', format('%I.%I', nspname, relname)
      from missing
      join pg_depend on refclassid = 'pg_class'::regclass and refobjid = object and deptype = 'a'
        and classid = 'pg_class'::regclass
      join pg_class c on c.oid = objid and relkind = 'S'
      join pg_namespace n on n.oid = relnamespace
      where kind = 'table'
    ),
    grouped as (
      select owner, kind, array_agg(name order by name) as names
      from granted
      group by owner, kind
    )
    select pg_get_userbyid(owner) as owner,
      coalesce((array_agg(names) filter (where kind = 'table'))[1:1], '{}') as tables,
      string_agg(
        format(
          'grant %s on %s %s to %I, %I;',
          case kind
            when 'schema' then 'usage'
            when 'table' then 'select, insert, update, delete'
            else 'usage, select'
          end,
          kind, array_to_string(names, ', '), ${callerRole}::text, current_user
        ),
        ' ' order by kind
      ) as statement
    from grouped
    group by owner
    order by 1`)
  return rows.map(({ tables, ...grant }) => ({ ...grant, tables: tables.flat() }))
}
