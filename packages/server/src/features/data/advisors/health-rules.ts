import { callerRole } from '../../../database/caller/caller-scope.ts'
import { isClosed } from '../../../database/catalog/changes.ts'
import type { Catalog } from '../../../database/catalog/model.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { nameOf } from './access-rules.ts'
import { type Finding, type Rule, write } from './advice.ts'

const rules = {
  viewOfOwner: {
    name: 'view_bypasses_policies',
    group: 'access',
    title: 'A view that bypasses the policies',
    explanation:
      'It reads with the privileges of its owner, to whom policies do not apply. Through it, callers can read rows that the policies of its tables hide.',
  },
  storedView: {
    name: 'matview_bypasses_policies',
    group: 'access',
    title: 'A materialized view that bypasses the policies',
    explanation:
      'It holds rows of tables with policies and has none itself, so every signed-in caller can read all of it.',
  },
  extension: {
    name: 'extension_exposed',
    group: 'access',
    title: 'An extension in an exposed schema',
    explanation:
      'The functions of the extension can be called by the API like your own. After the move, your functions that name its types or functions without a schema need the new schema in their search_path.',
  },
  bloat: {
    name: 'dead_rows',
    group: 'health',
    title: 'Many dead rows',
    explanation:
      'More than a fifth of the rows are invisible to every transaction, but every scan reads them.',
  },
  neverAnalyzed: {
    name: 'never_analyzed',
    group: 'health',
    title: 'A table that was never analyzed',
    explanation: 'Without statistics the planner guesses how many rows match a condition.',
  },
  connections: {
    name: 'connections_near_limit',
    group: 'health',
    title: 'Most connections are in use',
    explanation:
      'Beyond max_connections PostgreSQL rejects new connections. A change of the setting takes effect at its next start.',
  },
} as const satisfies Record<string, Rule>

const deadRows = 10_000
const usedShare = 0.8

/** Finds problems of views, extensions, tables and connections in the catalogs and statistics of PostgreSQL. */
export async function findHealth(
  { schemas, relations }: Pick<Catalog, 'schemas' | 'relations'>,
  database: Queryable,
): Promise<Finding[]> {
  // database.require_rls hides these from callers.
  const closed = new Set([...relations.values()].filter(isClosed).map(nameOf))
  const found = [
    (await findViews(database, schemas)).filter(({ object }) => !closed.has(object)),
    await findExtensions(database, schemas),
    await findTables(database, schemas),
    await findConnections(database),
  ]
  return found.flat()
}

interface Named extends Record<string, unknown> {
  readonly schema: string
  readonly name: string
}

/** Finds the views that callers may read and that read a table with policies, at any depth. */
async function findViews(database: Queryable, schemas: readonly string[]): Promise<Finding[]> {
  const rows = await database.many<Named & { kind: 'v' | 'm'; tables: string[] }>(sql`
    with recursive reached (root, oid) as (
      select c.oid, c.oid
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any (${schemas}) and c.relkind in ('v', 'm')
        and has_any_column_privilege(${callerRole}, c.oid, 'select')
        and not exists (
          select from pg_options_to_table(c.reloptions) o
          where o.option_name = 'security_invoker' and o.option_value::boolean
        )
      union
      select r.root, d.refobjid
      from reached r
      join pg_rewrite w on w.ev_class = r.oid
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
        and d.refclassid = 'pg_class'::regclass and d.refobjid <> r.oid
    )
    select n.nspname as schema, v.relname as name, v.relkind as kind,
      array_agg(distinct c.oid::regclass::text) as tables
    from reached r
    join pg_class c on c.oid = r.oid and c.relkind in ('r', 'p') and c.relrowsecurity
    join pg_class v on v.oid = r.root
    join pg_namespace n on n.oid = v.relnamespace
    group by n.nspname, v.relname, v.relkind
    order by 1, 2`)
  return rows.map(({ schema, name, kind, tables }): Finding => {
    const view = sql.id(schema, name)
    return {
      rule: kind === 'v' ? rules.viewOfOwner : rules.storedView,
      severity: 'error',
      object: `${schema}.${name}`,
      detail: `It reads ${tables.join(', ')}.`,
      statement: write(
        kind === 'v'
          ? sql`alter view ${view} set (security_invoker = true)`
          : sql`revoke select on ${view} from ${sql.id(callerRole)}`,
      ),
    }
  })
}

async function findExtensions(database: Queryable, schemas: readonly string[]): Promise<Finding[]> {
  const rows = await database.many<Named>(sql`
    select n.nspname as schema, e.extname as name
    from pg_extension e
    join pg_namespace n on n.oid = e.extnamespace
    where n.nspname = any (${schemas}) and e.extrelocatable
    order by 2`)
  return rows.map(({ schema, name }) => ({
    rule: rules.extension,
    severity: 'info',
    object: `${schema}.${name}`,
    statement: `${write(sql`create schema if not exists extensions`)} ${write(
      sql`grant usage on schema extensions to ${sql.id(callerRole)}`,
    )} ${write(sql`alter extension ${sql.id(name)} set schema extensions`)}`,
  }))
}

async function findTables(database: Queryable, schemas: readonly string[]): Promise<Finding[]> {
  const rows = await database.many<Named & { dead: number; live: number; is_bloated: boolean }>(sql`
    select * from (
      select schemaname as schema, relname as name, n_dead_tup::float8 as dead, n_live_tup::float8 as live,
        n_dead_tup > ${String(deadRows)}::int and n_dead_tup > (n_live_tup + n_dead_tup) / 5 as is_bloated,
        last_analyze is null and last_autoanalyze is null and n_live_tup >= 1000 as is_unknown
      from pg_stat_user_tables
      where schemaname = any (${schemas})
    ) t
    where is_bloated or is_unknown
    order by schema, name`)
  return rows.map(({ schema, name, dead, live, is_bloated }): Finding => {
    const object = `${schema}.${name}`
    const table = sql.id(schema, name)
    return is_bloated
      ? {
          rule: rules.bloat,
          severity: 'warning',
          object,
          detail: `${dead} dead rows beside ${live}.`,
          statement: write(sql`vacuum (analyze) ${table}`),
        }
      : {
          rule: rules.neverAnalyzed,
          severity: 'info',
          object,
          detail: `It has some ${live} rows.`,
          statement: write(sql`analyze ${table}`),
        }
  })
}

async function findConnections(database: Queryable): Promise<Finding[]> {
  const { used, limit } = await database.one<{ used: number; limit: number }>(sql`
    select (select count(*) from pg_stat_activity where backend_type = 'client backend')::int as used,
      current_setting('max_connections')::int as limit`)
  return adviseConnections(used, limit)
}

/** Advises on the number of connections. Pure. */
export function adviseConnections(used: number, limit: number): Finding[] {
  if (used < limit * usedShare) return []
  return [
    {
      rule: rules.connections,
      severity: 'warning',
      object: 'max_connections',
      detail: `${used} of ${limit} are in use.`,
      statement: write(sql`alter system set max_connections = ${sql.integer(limit * 2)}`),
    },
  ]
}
