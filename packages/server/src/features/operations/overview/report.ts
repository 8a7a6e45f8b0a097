import { readLastBackup } from '../../../database/embedded/last-backup.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component, described, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const milliseconds = nullable(Type.Number(), { description: 'null without requests.' })

const TrafficPoint = component(
  'TrafficPoint',
  Type.Object({
    timestamp: described('Start of the step, in UTC.', timestamp),
    requests: Type.Number(),
    errors: Type.Number({ description: 'Responses with status 500 and above.' }),
    p50_ms: milliseconds,
    p95_ms: milliseconds,
  }),
)
type TrafficPoint = Answered<typeof TrafficPoint>

/** Summary of the server for the first page of the dashboard. */
export const Report = component(
  'ServerReport',
  Type.Object({
    hour: Type.Array(TrafficPoint, { description: 'The last hour by minute.' }),
    day: Type.Array(TrafficPoint, { description: 'The last 24 hours by hour.' }),
    signUps: Type.Array(Type.Object({ day: Type.String({ format: 'date' }), count: Type.Integer() }), {
      description: 'New users of the last 14 days (UTC), at most 100,000 a day.',
    }),
    storedBytes: nullable(Type.Number(), { description: 'Bytes of stored files. null if none is stored.' }),
    streams: Type.Integer({ description: 'Open streams of all nodes.' }),
    backup: nullable(Type.Object({ finishedAt: timestamp, bytes: Type.Number() }), {
      description: 'Newest backup of `basalt backup`. null if there is none.',
    }),
    steps: described(
      'First steps that are done.',
      Type.Object({
        table: Type.Boolean(),
        policy: Type.Boolean(),
        user: Type.Boolean(),
        app: Type.Boolean({ description: 'A program has called the API.' }),
      }),
    ),
  }),
)
type Report = Answered<typeof Report>

/** Maximum number of requests per step from whose durations the percentiles are computed. */
const sampleSize = 500
/** Maximum number of requests and sign-ups that are counted per step. */
const mostCounted = 100_000
/** Seconds after which the streams of a silent node count as closed. */
const nodeLifeSeconds = 15

/** Reads the report. Every part reads a bounded number of rows by an index, whatever the size of the log. */
export async function readReport(
  database: Queryable,
  tables: Pick<Report['steps'], 'table' | 'policy'>,
): Promise<Report> {
  const [hour, day, facts, backup] = await Promise.all([
    listTraffic(database, 'minute', 60),
    listTraffic(database, 'hour', 24),
    readFacts(database),
    readLastBackup(database),
  ])
  const { hasUser, hasApp, ...figures } = facts
  return {
    ...figures,
    hour,
    day,
    backup: backup === undefined ? null : { finishedAt: backup.finishedAt, bytes: backup.bytes },
    steps: { ...tables, user: hasUser, app: hasApp },
  }
}

/** Lists requests per step. The hour counts the log; the day adds the counters of the usage up, which are hourly. */
async function listTraffic(
  database: Queryable,
  step: 'minute' | 'hour',
  steps: number,
): Promise<TrafficPoint[]> {
  const length = sql`('1 ' || ${step}::text)::interval`
  const counted =
    step === 'hour'
      ? sql`
        select coalesce(sum(u.requests), 0)::float8 from basalt.usage_hours u where u.hour = step.at`
      : sql`
        select count(*)::float8 from (
          select from basalt.requests r where r.happened_at >= step.at and r.happened_at < step.at + ${length}
          limit ${mostCounted}::int
        ) counted`
  return await database.many<TrafficPoint>(sql`
    with failed as materialized (
      select date_trunc(${step}::text, happened_at, 'UTC') as at, count(*)::float8 as errors
      from (
        select r.happened_at from basalt.requests r
        where r.status >= 500 and r.happened_at >= now() - ${steps}::int * ${length}
        limit ${mostCounted}::int
      ) newest
      group by 1
    )
    select step.at as timestamp, (${counted}) as requests, coalesce(failed.errors, 0) as errors,
      round(sample.p50::numeric, 2)::float8 as p50_ms, round(sample.p95::numeric, 2)::float8 as p95_ms
    from (
      select (date_trunc(${step}::text, now(), 'UTC') - number * ${length}) as at
      from generate_series(0, ${steps - 1}::int) number
    ) step
    left join failed using (at)
    cross join lateral (
      select percentile_cont(0.5) within group (order by duration_ms) as p50,
        percentile_cont(0.95) within group (order by duration_ms) as p95
      from (
        select r.duration_ms from basalt.requests r
        where r.happened_at >= step.at and r.happened_at < step.at + ${length}
        order by r.happened_at desc, r.id desc
        limit ${sampleSize}::int
      ) newest
    ) sample
    order by step.at`)
}

/** Endpoints that applications call, and the dashboard does not. */
const ofApplications = '^[A-Z]+ /api/(collections|rpc|graphql|realtime|batch|storage|auth)'

async function readFacts(database: Queryable) {
  return await database.one<
    Pick<Report, 'signUps' | 'storedBytes' | 'streams'> & { hasUser: boolean; hasApp: boolean }
  >(sql`
    select
      (
        select json_agg(json_build_object('day', day.at::date, 'count', (
          select count(*) from (
            select from basalt.users u where u.created_at >= day.at at time zone 'UTC'
              and u.created_at < (day.at + interval '1 day') at time zone 'UTC'
            limit ${mostCounted}::int
          ) counted
        )) order by day.at)
        from generate_series(
          date_trunc('day', now() at time zone 'UTC') - interval '13 days', now() at time zone 'UTC', interval '1 day'
        ) day (at)
      ) as "signUps",
      (
        select sum(newest.storage_bytes)::float8 from (
          select distinct on (app_id) storage_bytes from basalt.usage_hours
          where storage_bytes is not null and hour >= now() - interval '30 days'
          order by app_id, hour desc
        ) newest
      ) as "storedBytes",
      (
        select coalesce(sum(c.value::int), 0)::int
        from basalt.usage_nodes n, jsonb_each_text(n.connections) c
        where n.seen_at > now() - make_interval(secs => ${nodeLifeSeconds}::int)
      ) as streams,
      exists (select from basalt.users) as "hasUser",
      exists (
        select from basalt.usage_endpoints where endpoint ~ ${ofApplications}::text and status < 400
      ) as "hasApp"`)
}
