import { naturally } from '../../../database/natural-order.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'

export type RefreshMode = 'standard' | 'concurrent'

export interface MatviewRow {
  readonly id: string
  readonly schema_name: string
  readonly view_name: string
  readonly refresh_mode: RefreshMode
  readonly last_refresh_at: Date | null
  readonly last_refresh_duration_ms: number | null
  readonly last_refresh_status: 'success' | 'error' | null
  readonly last_refresh_error: string | null
  readonly created_at: Date
  readonly updated_at: Date
}

type Row = MatviewRow & Record<string, unknown>

const columns = sql`
  id, schema_name, view_name, refresh_mode, last_refresh_at, last_refresh_duration_ms, last_refresh_status,
  last_refresh_error, created_at, updated_at`

export async function listMatviews(database: Queryable): Promise<MatviewRow[]> {
  return await database.many<Row>(sql`
    select ${columns} from basalt.matviews
    order by ${naturally(sql`schema_name`)}, ${naturally(sql`view_name`)}`)
}

export async function findMatview(database: Queryable, id: string): Promise<MatviewRow | undefined> {
  return await database.maybeOne<Row>(sql`select ${columns} from basalt.matviews where id = ${id}::uuid`)
}

export async function findMatviewByName(
  database: Queryable,
  schema: string,
  view: string,
): Promise<MatviewRow | undefined> {
  return await database.maybeOne<Row>(
    sql`select ${columns} from basalt.matviews where schema_name = ${schema} and view_name = ${view}`,
  )
}

/** Undefined when the view is registered already. */
export async function insertMatview(
  database: Queryable,
  schema: string,
  view: string,
  mode: RefreshMode,
): Promise<MatviewRow | undefined> {
  return await database.maybeOne<Row>(sql`
    insert into basalt.matviews (schema_name, view_name, refresh_mode) values (${schema}, ${view}, ${mode})
    on conflict (schema_name, view_name) do nothing
    returning ${columns}`)
}

export async function updateRefreshMode(
  database: Queryable,
  id: string,
  mode: RefreshMode,
): Promise<MatviewRow | undefined> {
  return await database.maybeOne<Row>(sql`
    update basalt.matviews set refresh_mode = ${mode}, updated_at = now() where id = ${id}::uuid
    returning ${columns}`)
}

export async function deleteMatview(database: Queryable, id: string): Promise<MatviewRow | undefined> {
  return await database.maybeOne<Row>(
    sql`delete from basalt.matviews where id = ${id}::uuid returning ${columns}`,
  )
}

/** What decides whether and how a view can be refreshed; undefined when there is no such materialized view. */
export interface ViewState {
  readonly is_populated: boolean
  /** On columns alone and without a condition, as a concurrent refresh needs it. */
  readonly has_unique_index: boolean
}

export async function findViewState(
  database: Queryable,
  schema: string,
  view: string,
): Promise<ViewState | undefined> {
  return await database.maybeOne<ViewState & Record<string, unknown>>(sql`
    select c.relispopulated as is_populated,
      exists (
        select from pg_index i
        where i.indrelid = c.oid and i.indisunique and i.indisvalid and i.indimmediate
          and i.indexprs is null and i.indpred is null) as has_unique_index
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relname = ${view} and c.relkind = 'm'`)
}

/** Holds until the transaction ends; false while another one, on whichever node, holds it. */
export async function tryLockRefresh(transaction: Queryable, id: string): Promise<boolean> {
  const { is_locked } = await transaction.one<{ is_locked: boolean }>(sql`
    select pg_try_advisory_xact_lock(hashtextextended('basalt refresh ' || ${id}::text, 0)) as is_locked`)
  return is_locked
}

/** Undefined when the registration is gone. */
export async function recordSuccess(
  transaction: Queryable,
  id: string,
  durationMs: number,
): Promise<MatviewRow | undefined> {
  return await transaction.maybeOne<Row>(sql`
    update basalt.matviews set
      last_refresh_at = clock_timestamp(), last_refresh_duration_ms = ${durationMs}::int,
      last_refresh_status = 'success', last_refresh_error = null, updated_at = clock_timestamp()
    where id = ${id}::uuid
    returning ${columns}`)
}

/** Unless another refresh has ended since this one began. */
export async function recordFailure(
  database: Queryable,
  id: string,
  reason: string,
  durationMs: number,
): Promise<void> {
  await database.count(sql`
    update basalt.matviews set
      last_refresh_at = clock_timestamp(), last_refresh_duration_ms = ${durationMs}::int,
      last_refresh_status = 'error', last_refresh_error = ${reason}, updated_at = clock_timestamp()
    where id = ${id}::uuid
      and (last_refresh_at is null
        or last_refresh_at < clock_timestamp() - make_interval(secs => ${durationMs / 1000}::float8))`)
}
