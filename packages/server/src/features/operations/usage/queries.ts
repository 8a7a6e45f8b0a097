import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'

/** Counts of a node for an app within an hour: of an endpoint and a status, or of anything other than requests. */
export interface UsageRow {
  readonly app_id: string
  /** Hour in RFC 3339, UTC. */
  readonly hour: string
  readonly endpoint: string | null
  readonly status: number | null
  requests: number
  bytes_in: number
  bytes_out: number
  procedure_calls: number
  job_runs: number
  /** Peak number of streams on this node. */
  connections: number
  /** Stored bytes. Null while they were not measured. */
  storage_bytes: number | null
}

export interface UsageBatch {
  readonly number: number
  readonly rows: readonly UsageRow[]
  /** Streams of this node by app. */
  readonly open: object
}

/** Seconds after which the streams of a silent node count as closed. */
const nodeLifeSeconds = 15

/**
 * Adds a batch exactly once. A batch that was already added changes nothing. Rows are locked in one order on
 * all nodes.
 */
export async function addUsage(database: Queryable, node: string, batch: UsageBatch): Promise<void> {
  await database.count(sql`
    with fresh as (
      insert into basalt.usage_nodes as n (node, batch, connections)
      values (${node}::uuid, ${batch.number}::bigint, ${JSON.stringify(batch.open)}::jsonb)
      on conflict (node) do update set batch = excluded.batch, connections = excluded.connections, seen_at = now()
      where n.batch < excluded.batch
      returning 1
    ),
    counted as materialized (
      select r.* from json_to_recordset(${JSON.stringify(batch.rows)}::json) as r (
        app_id uuid, hour timestamptz, endpoint text, status int, requests bigint, bytes_in bigint, bytes_out bigint,
        procedure_calls bigint, job_runs bigint, connections int, storage_bytes bigint
      )
      where exists (select from fresh)
    ),
    elsewhere as (
      select c.key::uuid as app_id, sum(c.value::int)::int as connections
      from basalt.usage_nodes n, jsonb_each_text(n.connections) c
      where n.node <> ${node}::uuid and n.seen_at > now() - make_interval(secs => ${nodeLifeSeconds}::int)
      group by 1
    ),
    hours as (
      insert into basalt.usage_hours as u (app_id, hour, requests, bytes_in, bytes_out, procedure_calls, job_runs,
        realtime_peak, storage_bytes)
      select c.app_id, c.hour, sum(c.requests), sum(c.bytes_in), sum(c.bytes_out), sum(c.procedure_calls),
        sum(c.job_runs),
        case when max(c.connections) > 0 then max(c.connections) + coalesce(max(e.connections), 0) else 0 end,
        max(c.storage_bytes)
      from counted c
      left join elsewhere e on e.app_id = c.app_id
      group by c.app_id, c.hour
      order by c.app_id, c.hour
      on conflict (app_id, hour) do update set
        requests = u.requests + excluded.requests,
        bytes_in = u.bytes_in + excluded.bytes_in,
        bytes_out = u.bytes_out + excluded.bytes_out,
        procedure_calls = u.procedure_calls + excluded.procedure_calls,
        job_runs = u.job_runs + excluded.job_runs,
        realtime_peak = greatest(u.realtime_peak, excluded.realtime_peak),
        storage_bytes = coalesce(excluded.storage_bytes, u.storage_bytes)
      returning 1
    )
    insert into basalt.usage_endpoints as u (app_id, day, endpoint, status, requests)
    select app_id, (hour at time zone 'UTC')::date, endpoint, status, sum(requests)
    from counted
    where endpoint is not null
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4
    on conflict (app_id, day, endpoint, status) do update set requests = u.requests + excluded.requests`)
}

export const usageMetrics = [
  'api_requests',
  'storage_bytes',
  'bandwidth_bytes',
  'function_invocations',
  'realtime_peak_connections',
  'job_runs',
] as const
export type UsageMetric = (typeof usageMetrics)[number]

/** Expressions for a metric of one app within a span of time. */
const appMetrics: Readonly<Record<UsageMetric, Sql>> = {
  api_requests: sql`coalesce(sum(u.requests), 0)`,
  storage_bytes: sql`coalesce(max(u.storage_bytes), 0)`,
  bandwidth_bytes: sql`coalesce(sum(u.bytes_in + u.bytes_out), 0)`,
  function_invocations: sql`coalesce(sum(u.procedure_calls), 0)`,
  realtime_peak_connections: sql`coalesce(max(u.realtime_peak), 0)`,
  job_runs: sql`coalesce(sum(u.job_runs), 0)`,
}

/** Span of time in UTC, with an exclusive end. */
export interface Span {
  readonly from: Date
  readonly to: Date
}

function within({ from, to }: Span): Sql {
  return sql`u.hour >= ${from}::timestamptz and u.hour < ${to}::timestamptz`
}

export type AppUsage = Readonly<Record<UsageMetric, number>> & {
  readonly app_id: string
  readonly name: string
  readonly bytes_in: number
  readonly bytes_out: number
}

const allMetrics: Sql = sql.join(
  usageMetrics.map((metric) => sql`${appMetrics[metric]}::float8 as ${sql.id(metric)}`),
)

export interface AppUsageOrder {
  readonly key: UsageMetric | 'app_id' | 'name'
  readonly isDescending: boolean
}

/** Lists every app, including those without usage. */
export async function listAppUsage(
  database: Queryable,
  span: Span,
  { key, isDescending }: AppUsageOrder,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<{ readonly rows: readonly AppUsage[]; readonly total: number }> {
  const { total } = await database.one<{ total: number }>(sql`select count(*)::int as total from basalt.apps`)
  const rows = await database.many<AppUsage & Record<string, unknown>>(sql`
    select a.id as app_id, a.name, ${allMetrics},
      coalesce(sum(u.bytes_in), 0)::float8 as bytes_in, coalesce(sum(u.bytes_out), 0)::float8 as bytes_out
    from basalt.apps a
    left join basalt.usage_hours u on u.app_id = a.id and ${within(span)}
    group by a.id, a.name
    order by ${sql.id(key)} ${isDescending ? sql`desc` : sql`asc`}, app_id
    limit ${limit}::int offset ${offset}::bigint`)
  return { rows, total }
}

export interface PlannedApp {
  readonly id: string
  readonly plan: string
}

export async function findApp(database: Queryable, id: string): Promise<PlannedApp | undefined> {
  return await database.maybeOne<PlannedApp & Record<string, unknown>>(
    sql`select id, plan from basalt.apps where id = ${id}::uuid`,
  )
}

export type DayUsage = Readonly<Record<UsageMetric, number>> & { readonly date: string }

/** Lists the days of the span in which the app used anything. */
export async function listDays(database: Queryable, app: string, span: Span): Promise<readonly DayUsage[]> {
  return await database.many<DayUsage & Record<string, unknown>>(sql`
    select to_char(u.hour at time zone 'UTC', 'YYYY-MM-DD') as date, ${allMetrics}
    from basalt.usage_hours u
    where u.app_id = ${app}::uuid and ${within(span)}
    group by 1
    order by 1`)
}

export const granularities = ['hour', 'day', 'week', 'month'] as const
export type Granularity = (typeof granularities)[number]

/** Lists a metric of all apps together, including empty steps. */
export async function listTrend(
  database: Queryable,
  metric: UsageMetric,
  granularity: Granularity,
  span: Span,
): Promise<readonly { readonly timestamp: Date; readonly value: number }[]> {
  return await database.many<{ timestamp: Date; value: number }>(sql`
    select step at time zone 'UTC' as timestamp, coalesce(sum(used.value), 0)::float8 as value
    from generate_series(
      date_trunc(${granularity}, ${span.from}::timestamptz at time zone 'UTC'),
      (${span.to}::timestamptz - interval '1 microsecond') at time zone 'UTC',
      ('1 ' || ${granularity})::interval
    ) step
    left join (
      select date_trunc(${granularity}, u.hour at time zone 'UTC') as step, u.app_id, ${appMetrics[metric]} as value
      from basalt.usage_hours u
      where ${within(span)}
      group by 1, 2
    ) used using (step)
    group by step
    order by step`)
}

export interface BreakdownItem {
  readonly key: string
  readonly name?: string
  readonly value: number
}

export async function breakDownByApp(
  database: Queryable,
  metric: UsageMetric,
  span: Span,
  limit: number,
): Promise<readonly BreakdownItem[]> {
  return await database.many<BreakdownItem & Record<string, unknown>>(sql`
    select a.id::text as key, a.name, ${appMetrics[metric]}::float8 as value
    from basalt.usage_hours u
    join basalt.apps a on a.id = u.app_id
    where ${within(span)}
    group by a.id, a.name
    order by value desc, key
    limit ${limit}::int`)
}

export async function breakDownRequests(
  database: Queryable,
  by: 'endpoint' | 'status_code',
  span: Span,
  limit: number,
): Promise<readonly BreakdownItem[]> {
  return await database.many<BreakdownItem & Record<string, unknown>>(sql`
    select ${by === 'endpoint' ? sql`endpoint` : sql`status::text`} as key, sum(requests)::float8 as value
    from basalt.usage_endpoints
    where day >= (${span.from}::timestamptz at time zone 'UTC')::date
      and day < (${span.to}::timestamptz at time zone 'UTC')::date
    group by 1
    order by value desc, key
    limit ${limit}::int`)
}

/** Lists the usage of apps since a time, where their plan limits anything. */
export async function listUsed(
  database: Queryable,
  plans: readonly string[],
  since: Date,
): Promise<readonly AppUsage[]> {
  return await database.many<AppUsage & Record<string, unknown>>(sql`
    select a.id as app_id, a.plan as name, ${allMetrics}
    from basalt.apps a
    left join basalt.usage_hours u on u.app_id = a.id and u.hour >= ${since}::timestamptz
    where a.plan = any (${plans}::text[])
    group by a.id, a.plan`)
}

/** Changes the plan of an app. @returns whether the app exists */
export async function updatePlan(database: Queryable, app: string, plan: string): Promise<boolean> {
  const count = await database.count(
    sql`update basalt.apps set plan = ${plan}, updated_at = now() where id = ${app}::uuid`,
  )
  return count === 1
}

export async function deleteUsage(database: Queryable, days: number): Promise<void> {
  await database.count(sql`delete from basalt.usage_nodes where seen_at < now() - interval '1 day'`)
  await deleteInBatches(database, 'usage_hours', sql`hour < now() - make_interval(days => ${days}::int)`)
  await deleteInBatches(
    database,
    'usage_endpoints',
    sql`day < (now() at time zone 'UTC')::date - ${days}::int`,
  )
}
