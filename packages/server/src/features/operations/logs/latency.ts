import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, described, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

export const latencySteps = ['minute', 'hour', 'day'] as const
export type LatencyStep = (typeof latencySteps)[number]

export const stepMs: Readonly<Record<LatencyStep, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 24 * 3_600_000,
}

export interface LatencyFilter {
  readonly from: Date
  /** Exclusive end. */
  readonly to: Date
  readonly operation: string | undefined
  readonly appId: string | undefined
}

const milliseconds = nullable(Type.Number(), { description: 'Accurate to 5 %. null without requests.' })

/** Number of requests in one step, with their durations. */
export const Latency = Type.Object({
  timestamp: described('Start of the step, in UTC.', timestamp),
  requests: Type.Number(),
  errors: Type.Number({ description: 'Responses with status 500 and above.' }),
  bytes: Type.Number({ description: 'Bytes received and sent, including headers.' }),
  p50_ms: milliseconds,
  p95_ms: milliseconds,
  p99_ms: milliseconds,
})
type Latency = Answered<typeof Latency>

/** Ratio of each class of durations to the previous one, which makes percentiles accurate to 5 %. */
const growth = 1.1

/**
 * Lists requests and their durations per step, in UTC, including empty steps. Durations are counted by class
 * rather than sorted, so that a day of a busy server needs little memory.
 */
export async function listLatency(
  database: Queryable,
  step: LatencyStep,
  { from, to, operation, appId }: LatencyFilter,
): Promise<Latency[]> {
  const percentile = (fraction: number) =>
    sql`power(${growth}::float8, min(class) filter (where upto >= total * ${fraction}::float8) + 0.5)`
  return await database.many<Latency>(sql`
    with classes as (
      select date_trunc(${step}, happened_at, 'UTC') as at,
        floor(ln(greatest(duration_ms, 0.01)) / ln(${growth}::float8))::int as class,
        count(*) as requests, count(*) filter (where status >= 500) as errors,
        sum(request_size + response_size) as bytes
      from basalt.requests
      where happened_at >= ${from}::timestamptz and happened_at < ${to}::timestamptz
        ${operation === undefined ? sql.empty : sql`and operation = ${operation}`}
        ${appId === undefined ? sql.empty : sql`and app_id = ${appId}::uuid`}
      group by 1, 2
    ),
    ranked as (
      select classes.*, sum(requests) over (partition by at order by class) as upto,
        sum(requests) over (partition by at) as total
      from classes
    ),
    steps as (
      select at, sum(requests)::float8 as requests, sum(errors)::float8 as errors, sum(bytes)::float8 as bytes,
        ${percentile(0.5)} as p50_ms, ${percentile(0.95)} as p95_ms, ${percentile(0.99)} as p99_ms
      from ranked
      group by at
    )
    select at as timestamp, coalesce(requests, 0) as requests, coalesce(errors, 0) as errors, coalesce(bytes, 0) as bytes,
      round(p50_ms::numeric, 2)::float8 as p50_ms, round(p95_ms::numeric, 2)::float8 as p95_ms,
      round(p99_ms::numeric, 2)::float8 as p99_ms
    -- Without a time zone, which generate_series takes from PostgreSQL 16 on.
    from (
      select local at time zone 'UTC' as at
      from generate_series(
        date_trunc(${step}, ${from}::timestamptz at time zone 'UTC'),
        (${to}::timestamptz - interval '1 microsecond') at time zone 'UTC',
        ('1 ' || ${step})::interval
      ) local
    ) step
    left join steps using (at)
    order by at`)
}
