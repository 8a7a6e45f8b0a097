import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { TimePosition } from '../../../http/requests/filters.ts'
import { type Answered, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { cut, listedLength } from './listed-text.ts'
import type { RunMode } from './request.ts'

/** Run of SQL, with the first characters of its texts in lists. */
export const SqlRun = component(
  'SqlRun',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    query: Type.String({ description: 'Query text with passwords as `[redacted]`.' }),
    ...cut,
    mode: Type.Enum(['read', 'write']),
    runAs: Type.String(),
    status: Type.Enum(['running', 'succeeded', 'failed', 'canceled', 'interrupted'], {
      description: '`interrupted` when its server has died.',
    }),
    error: nullable(Type.String()),
    statements: Type.Integer(),
    rowCount: nullable(Type.Integer()),
    durationMs: nullable(Type.Integer()),
    startedAt: timestamp,
  }),
)
export type SqlRun = Answered<typeof SqlRun>

/** Maximum number of stored runs. */
const storedRuns = 1000

/** @returns 0 when a run with this id exists */
export async function insertRun(
  transaction: Queryable,
  run: {
    readonly id: string
    readonly query: string
    readonly mode: RunMode
    readonly runAs: string
    readonly statements: number
    /** Process id of the session; undefined behind a pooler. */
    readonly backendPid: number | undefined
  },
): Promise<number> {
  await transaction.count(sql`
    delete from basalt.sql_runs
    where (started_at, id) < (
      select started_at, id from basalt.sql_runs order by started_at desc, id desc offset ${storedRuns - 2}::int limit 1
    )`)
  return await transaction.count(sql`
    insert into basalt.sql_runs (id, query, mode, run_as, statements, backend_pid, backend_start)
    values (${run.id}::uuid, ${run.query}, ${run.mode}, ${run.runAs}, ${run.statements}::int,
      ${run.backendPid ?? null}::int,
      (select backend_start from pg_stat_activity where pid = ${run.backendPid ?? null}::int))
    on conflict do nothing`)
}

export async function finishRun(
  database: Queryable,
  id: string,
  end: {
    readonly status: 'succeeded' | 'failed' | 'canceled'
    readonly error: string | undefined
    readonly rowCount: number
    readonly durationMs: number
  },
): Promise<void> {
  await database.count(sql`
    update basalt.sql_runs
    set status = ${end.status}, error = ${end.error ?? null}, row_count = ${end.rowCount}::bigint,
      duration_ms = ${Math.round(end.durationMs)}::int, backend_pid = null, backend_start = null
    where id = ${id}::uuid and status = 'running'`)
}

/** Condition that the session of a run still exists, which a pooler does not show. */
const isAlive = sql`(backend_pid is null or exists (
  select from pg_stat_activity a where a.pid = backend_pid and a.backend_start = sql_runs.backend_start))`

/**
 * Cancels the statement of a run, wherever its client is connected. Between two statements this has no effect.
 *
 * @returns whether the run is in flight
 */
export async function cancelBackend(database: Queryable, id: string): Promise<boolean> {
  const found = await database.maybeOne<{ is_canceled: boolean | null }>(sql`
    select pg_cancel_backend(backend_pid) as is_canceled
    from basalt.sql_runs where id = ${id}::uuid and status = 'running' and ${isAlive}`)
  return found !== undefined
}

export interface RunFilter {
  /** Part of the query. */
  readonly search: string | undefined
  /** Run after which the page begins. */
  readonly after: TimePosition | undefined
}

const status = sql`case when status = 'running' and not ${isAlive} then 'interrupted' else status end as status`

/** Columns that lists have in full. Positions of a cursor are microseconds since 1970. */
const columns = sql`
  mode, run_as as "runAs", ${status}, statements, row_count::float8 as "rowCount", duration_ms as "durationMs",
  started_at as "startedAt"`

export async function listRuns(
  database: Queryable,
  { search, after }: RunFilter,
  limit: number,
): Promise<(SqlRun & { readonly position: string })[]> {
  const conditions: Sql[] = [sql`true`]
  if (search !== undefined) conditions.push(sql`strpos(lower(query), lower(${search})) > 0`)
  if (after !== undefined)
    conditions.push(
      sql`(started_at, id) < ('epoch'::timestamptz + ${after.microseconds}::bigint * interval '1 microsecond', ${after.id}::uuid)`,
    )
  return await database.many<SqlRun & { readonly position: string }>(sql`
    select id, left(query, ${listedLength}::int) as query, char_length(query) as "queryLength",
      greatest(char_length(query), char_length(error)) > ${listedLength}::int as "isCut",
      left(error, ${listedLength}::int) as error, ${columns},
      (extract(epoch from started_at) * 1000000)::bigint::text as position
    from basalt.sql_runs
    where ${sql.join(conditions, sql` and `)}
    order by started_at desc, id desc
    limit ${limit}::int`)
}

/** Finds a run with its full texts. */
export async function findRun(database: Queryable, id: string): Promise<SqlRun | undefined> {
  return await database.maybeOne<SqlRun>(sql`
    select id, query, char_length(query) as "queryLength", false as "isCut", error, ${columns}
    from basalt.sql_runs
    where id = ${id}::uuid`)
}

/**
 * Returns names of types by object id. A type that the run's own transaction has created exists only in its session.
 */
export async function nameTypes(session: Queryable, oids: readonly number[]): Promise<Map<number, string>> {
  const rows = await session.many<{ oid: string; name: string }>(sql`
    select oid::text as oid, pg_catalog.format_type(oid, null) as name
    from pg_catalog.unnest(${oids.map(String)}::oid[]) oid`)
  return new Map(rows.map(({ oid, name }) => [Number(oid), name]))
}

/** Returns object ids of types by name; 0 for an unknown name. */
export async function findTypes(database: Queryable, names: readonly string[]): Promise<number[]> {
  const rows = await database.many<{ oid: string }>(sql`
    select coalesce(to_regtype(name)::oid, 0)::text as oid
    from unnest(${names}::text[]) with ordinality requested (name, n) order by n`)
  return rows.map(({ oid }) => Number(oid))
}
