import type { Connection } from '../connection/connection.ts'
import { administratorRole } from '../logins/roles.ts'
import { type Sql, sql } from '../sql.ts'
import { type Queryable, queryableOn } from '../system-database.ts'
import { callerRole } from './caller-scope.ts'

/**
 * Privilege that the owner of tables has to grant before Basalt itself, and so administrators, can use them.
 */
export interface MissingGrant {
  /** Role that may run the statement; a superuser may, too. */
  readonly owner: string
  /** Name such as `orders.invoice`, quoted where SQL needs it. Empty when only the schema is closed. */
  readonly tables: readonly string[]
  readonly statement: string
}

/** Table of another owner that callers cannot use. */
export interface ClosedTable {
  readonly owner: string
  readonly table: string
  /**
   * Statement that enables row-level security if it is off, and then grants. Undefined if policies cannot guard
   * the rows.
   */
  readonly statement: string | undefined
}

/**
 * Missing privileges on objects of roles that the login role is no member of. Where it could grant a privilege
 * itself, the operator has left the grant out.
 */
export interface MissingGrants {
  readonly toBasalt: readonly MissingGrant[]
  /** Closed tables. Each needs policies before callers may read it. */
  readonly toCallers: readonly ClosedTable[]
}

/**
 * Finds the tables of the exposed schemas that the login role cannot read, or callers cannot use. Many tables
 * stay closed to callers for good, so these are reported only when a start finds more of them.
 */
export async function findMissingGrants(
  connection: Connection,
  schemas: readonly string[],
): Promise<MissingGrants> {
  const toBasalt = await findGrantsToBasalt(queryableOn(connection), schemas)
  const closed = await connection.query<{ owner: string; table: string; statement: string | null }>(
    grantsToCallers(schemas),
  )
  const toCallers = closed.rows.map(({ statement, ...table }) => ({
    ...table,
    statement: statement ?? undefined,
  }))
  const names = toCallers.map(({ table }) => table)
  const known = await connection.query<{ names: string[] | null }>(replaceKnown(names))
  const said = new Set(known.rows[0]?.names ?? [])
  return {
    toBasalt,
    toCallers: names.every((name) => said.has(name)) ? [] : toCallers,
  }
}

/** Finds the tables of the exposed schemas that the login role or administrators cannot use. */
export async function findGrantsToBasalt(
  database: Queryable,
  schemas: readonly string[],
): Promise<MissingGrant[]> {
  const rows = await database.many<{ owner: string; tables: string[]; statement: string }>(
    grantsToBasalt(schemas),
  )
  return rows.map(({ tables, ...grant }) => ({ ...grant, tables: tables.flat() }))
}

/** Stores the names of the closed tables and returns those of the last start. */
function replaceKnown(names: readonly string[]): Sql {
  const value = JSON.stringify(names)
  return sql`
    with before as (
      select value from basalt.settings where key = 'tables_closed_to_callers'
    ),
    replaced as (
      insert into basalt.settings as s (key, value) values ('tables_closed_to_callers', ${value}::jsonb)
      on conflict (key) do update set value = excluded.value, updated_at = now() where s.value <> excluded.value
    )
    select (select array(select jsonb_array_elements_text(value)) from before) as names`
}

/**
 * Selects relations of other owners, as `other`, and the sequences of their serial columns; identity columns
 * need no privilege.
 */
function withOthers(schemas: readonly string[]): Sql {
  return sql`
    exposed as (
      select oid, nspname, nspowner
      from pg_namespace
      where nspname = any (${schemas})
    ),
    other as (
      select c.oid, relowner as owner, format('%I.%I', nspname, relname) as name, relkind, relrowsecurity, reloptions,
        relnamespace, nspname
      from pg_class c
      join exposed on exposed.oid = relnamespace
      where relkind in ('r', 'p', 'v', 'm', 'f')
        and not pg_has_role(relowner, 'usage')
        and not exists (
          select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e'
        )
    ),
    sequences as (
      select refobjid as relation, format('%I.%I', n.nspname, relname) as name
      from other
      join pg_depend on refclassid = 'pg_class'::regclass and refobjid = other.oid and deptype = 'a'
        and classid = 'pg_class'::regclass
      join pg_class c on c.oid = objid and c.relkind = 'S'
      join pg_namespace n on n.oid = c.relnamespace
    )`
}

/** The server itself reads the table, and its administrators work on it. */
const isUnreadable = sql`exists (
  select from basalt where not has_any_column_privilege(basalt.rolname, other.oid, 'select'))`

function grantsToBasalt(schemas: readonly string[]): Sql {
  return sql`
    with ${withOthers(schemas)},
    basalt as (select rolname from pg_roles where rolname in (current_user, ${administratorRole})),
    granted as (
      select nspowner as owner, 'schema' as kind, quote_ident(nspname) as name
      from exposed
      where exists (select from basalt where not has_schema_privilege(basalt.rolname, exposed.oid, 'usage'))
      union all
      select owner, 'table', name from other where ${isUnreadable}
      union all
      select owner, 'sequence', sequences.name
      from other join sequences on relation = oid
      where ${isUnreadable}
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
          'grant %s on %s %s to %s;',
          case kind
            when 'schema' then 'usage'
            when 'table' then 'select, insert, update, delete'
            else 'usage, select'
          end,
          kind, array_to_string(names, ', '), (select string_agg(quote_ident(rolname), ', ' order by rolname) from basalt)
        ),
        ' ' order by kind
      ) as statement
    from grouped
    group by owner
    order by 1`
}

/**
 * Selects the missing grants to callers. A view must first run with the rights of its caller: those of its
 * owner bypass the policies of the tables that it reads.
 */
function grantsToCallers(schemas: readonly string[]): Sql {
  return sql`
    with ${withOthers(schemas)}
    select pg_get_userbyid(owner) as owner,
      other.name as table,
      case when relkind in ('r', 'p', 'v') then concat(
        case
          when relkind in ('r', 'p') and not relrowsecurity
            then format('alter table %s enable row level security; ', other.name)
          when relkind = 'v' and not exists (
            select from pg_options_to_table(reloptions)
            where option_name = 'security_invoker' and option_value::boolean
          ) then format('alter view %s set (security_invoker = true); ', other.name)
        end,
        case when not has_schema_privilege(${callerRole}, relnamespace, 'usage')
          then format('grant usage on schema %I to %I; ', nspname, ${callerRole}::text) end,
        (select string_agg(format('grant usage, select on sequence %s to %I; ', s.name, ${callerRole}::text), '')
         from sequences s where s.relation = other.oid),
        format('grant select, insert, update, delete on table %s to %I;', other.name, ${callerRole}::text)
      ) end as statement
    from other
    where not (
      has_schema_privilege(${callerRole}, relnamespace, 'usage')
      and (
        has_any_column_privilege(${callerRole}, oid, 'select, insert, update')
        or has_table_privilege(${callerRole}, oid, 'delete')
      )
    )
    order by 2`
}
