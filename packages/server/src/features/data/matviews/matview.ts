import { naturally } from '../../../database/natural-order.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, choice, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

export const refreshModes = ['standard', 'concurrent'] as const
export type RefreshMode = (typeof refreshModes)[number]

/** Registration of a materialized view that is refreshed through the API. */
export const Matview = component(
  'Matview',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    schemaName: Type.String(),
    viewName: Type.String(),
    refreshMode: choice(refreshModes),
    lastRefreshAt: nullable(timestamp, { description: 'null until the first refresh.' }),
    lastRefreshDurationMs: nullable(Type.Integer()),
    lastRefreshStatus: nullable(choice(['success', 'error'])),
    lastRefreshError: nullable(Type.String()),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
)
export type Matview = Answered<typeof Matview>

const columns = sql`
  id, schema_name as "schemaName", view_name as "viewName", refresh_mode as "refreshMode",
  last_refresh_at as "lastRefreshAt", last_refresh_duration_ms as "lastRefreshDurationMs",
  last_refresh_status as "lastRefreshStatus", last_refresh_error as "lastRefreshError",
  created_at as "createdAt", updated_at as "updatedAt"`

export async function listMatviews(database: Queryable): Promise<Matview[]> {
  return await database.many<Matview>(sql`
    select ${columns} from basalt.matviews
    order by ${naturally(sql`schema_name`)}, ${naturally(sql`view_name`)}`)
}

export async function findMatview(database: Queryable, id: string): Promise<Matview | undefined> {
  return await database.maybeOne<Matview>(sql`select ${columns} from basalt.matviews where id = ${id}::uuid`)
}

/** Registers a view, unless it is registered already. */
export async function insertMatview(
  database: Queryable,
  { schema, view, mode }: { schema: string; view: string; mode: RefreshMode },
): Promise<Matview | undefined> {
  return await database.maybeOne<Matview>(sql`
    insert into basalt.matviews (schema_name, view_name, refresh_mode) values (${schema}, ${view}, ${mode})
    on conflict (schema_name, view_name) do nothing
    returning ${columns}`)
}

export async function findMatviewByName(
  database: Queryable,
  schema: string,
  view: string,
): Promise<Matview | undefined> {
  return await database.maybeOne<Matview>(
    sql`select ${columns} from basalt.matviews where schema_name = ${schema} and view_name = ${view}`,
  )
}

export async function updateRefreshMode(
  database: Queryable,
  id: string,
  mode: RefreshMode,
): Promise<Matview | undefined> {
  return await database.maybeOne<Matview>(sql`
    update basalt.matviews set refresh_mode = ${mode}, updated_at = now() where id = ${id}::uuid
    returning ${columns}`)
}

export async function deleteMatview(database: Queryable, id: string): Promise<Matview | undefined> {
  return await database.maybeOne<Matview>(
    sql`delete from basalt.matviews where id = ${id}::uuid returning ${columns}`,
  )
}

/** Records a successful refresh. Returns undefined when the registration was removed. */
export async function recordSuccess(
  transaction: Queryable,
  id: string,
  durationMs: number,
): Promise<Matview | undefined> {
  return await transaction.maybeOne<Matview>(sql`
    update basalt.matviews set
      last_refresh_at = clock_timestamp(), last_refresh_duration_ms = ${durationMs}::int,
      last_refresh_status = 'success', last_refresh_error = null, updated_at = clock_timestamp()
    where id = ${id}::uuid
    returning ${columns}`)
}

/** Records a failed refresh, unless another refresh has ended since this one started. */
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
