import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { TimePosition } from '../../../http/requests/filters.ts'
import type { RunMode } from './request.ts'

export type RunStatus = 'running' | 'succeeded' | 'failed' | 'canceled' | 'interrupted'

export interface RunRow {
  readonly id: string
  readonly query: string
  readonly query_length: number
  readonly is_cut: boolean
  readonly mode: RunMode
  readonly run_as: string
  readonly status: RunStatus
  readonly error: string | null
  readonly statements: number
  readonly row_count: string | null
  readonly duration_ms: number | null
  readonly started_at: Date
  /** When it was started, in microseconds since 1970. */
  readonly position: string
}

/** So many runs are kept. */
const keptRuns = 1000

/** @returns 0 when there is a run with this id */
export async function insertRun(
  transaction: Queryable,
  run: {
    readonly id: string
    readonly query: string
    readonly mode: RunMode
    readonly runAs: string
    readonly statements: number
    /** Undefined behind a pooler. */
    readonly backendPid: number | undefined
  },
): Promise<number> {
  await transaction.count(sql`
    delete from basalt.sql_runs
    where (started_at, id) < (
      select started_at, id from basalt.sql_runs order by started_at desc, id desc offset ${keptRuns - 2}::int limit 1
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

/** Whether the session of a run is still there; a pooler does not say. */
const isAlive = sql`(backend_pid is null or exists (
  select from pg_stat_activity a where a.pid = backend_pid and a.backend_start = sql_runs.backend_start))`

/**
 * Stops the statement of a run, wherever its client is connected. Nothing happens between two statements.
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
  /** Words of the query. */
  readonly search: string | undefined
  /** The run after which the page begins. */
  readonly after: TimePosition | undefined
}

/** Characters of a text in a list; what is asked for by its id has all. */
export const listedLength = 300

const status = sql`case when status = 'running' and not ${isAlive} then 'interrupted' else status end as status`

export async function listRuns(
  database: Queryable,
  { search, after }: RunFilter,
  limit: number,
): Promise<RunRow[]> {
  const conditions: Sql[] = [sql`true`]
  if (search !== undefined) conditions.push(sql`strpos(lower(query), lower(${search})) > 0`)
  if (after !== undefined)
    conditions.push(
      sql`(started_at, id) < ('epoch'::timestamptz + ${after.microseconds}::bigint * interval '1 microsecond', ${after.id}::uuid)`,
    )
  return await database.many<RunRow>(sql`
    select id, left(query, ${listedLength}::int) as query, char_length(query) as query_length,
      greatest(char_length(query), char_length(error)) > ${listedLength}::int as is_cut,
      mode, run_as, ${status}, left(error, ${listedLength}::int) as error, statements, row_count, duration_ms, started_at,
      (extract(epoch from started_at) * 1000000)::bigint::text as position
    from basalt.sql_runs
    where ${sql.join(conditions, sql` and `)}
    order by started_at desc, id desc
    limit ${limit}::int`)
}

/** A run with the whole of its texts. */
export async function findRun(database: Queryable, id: string): Promise<RunRow | undefined> {
  return await database.maybeOne<RunRow>(sql`
    select id, query, char_length(query) as query_length, false as is_cut, mode, run_as, ${status}, error, statements,
      row_count, duration_ms, started_at, (extract(epoch from started_at) * 1000000)::bigint::text as position
    from basalt.sql_runs
    where id = ${id}::uuid`)
}

/** Names of types by object id. A type that the run's own transaction has made is in its session alone. */
export async function nameTypes(session: Queryable, oids: readonly number[]): Promise<Map<number, string>> {
  const rows = await session.many<{ oid: string; name: string }>(sql`
    select oid::text as oid, pg_catalog.format_type(oid, null) as name
    from pg_catalog.unnest(${oids.map(String)}::oid[]) oid`)
  return new Map(rows.map(({ oid, name }) => [Number(oid), name]))
}

/** Object ids of types by name; 0 for a name that is none. */
export async function findTypes(database: Queryable, names: readonly string[]): Promise<number[]> {
  const rows = await database.many<{ oid: string }>(sql`
    select coalesce(to_regtype(name)::oid, 0)::text as oid
    from unnest(${names}::text[]) with ordinality given (name, n) order by n`)
  return rows.map(({ oid }) => Number(oid))
}
