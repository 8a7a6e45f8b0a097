import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import type { FunctionDescription, FunctionHost } from '../runtime/index.ts'

/** Maximum number of requests that are counted, the newest ones. */
const requestLimit = 20_000
/** Maximum number of jobs of one function that are counted. */
const jobLimit = 2000
/** Maximum number of attempts of one function for changes that are counted. */
const attemptLimit = 5000

const Counts = Type.Object({ hour: Type.Integer(), day: Type.Integer() })

export const FunctionActivity = component(
  'FunctionActivity',
  Type.Object({
    name: Type.String(),
    calls: Counts,
    errors: Type.Object({ hour: Type.Integer(), day: Type.Integer() }),
  }),
)
export type FunctionActivity = Answered<typeof FunctionActivity>

interface CountRow extends Record<string, unknown> {
  readonly hour: number
  readonly day: number
  readonly hourErrors: number
  readonly dayErrors: number
}

/** Returns the columns that count rows. @param at time of a row */
const counts = (at: ReturnType<typeof sql>, isError: ReturnType<typeof sql>) => sql`
  count(*) filter (where ${at} >= now() - interval '1 hour')::int as hour, count(*)::int as day,
  count(*) filter (where ${isError} and ${at} >= now() - interval '1 hour')::int as "hourErrors",
  count(*) filter (where ${isError})::int as "dayErrors"`

const isOfDay = (at: ReturnType<typeof sql>) => sql`${at} >= now() - interval '1 day'`

/**
 * Counts the calls of the last hour and day by function, from the records that exist: requests, runs of jobs, and attempts to
 * handle a change. Each source is read from its newest record on, up to a limit. Hooks have no record of their own.
 */
export async function countActivity(
  database: Queryable,
  { functions, knownRoutes }: Pick<FunctionHost, 'functions' | 'knownRoutes'>,
): Promise<{ readonly items: FunctionActivity[]; readonly isComplete: boolean }> {
  const sums = new Map<string, CountRow>()
  const add = (name: string | undefined, { hour, day, hourErrors, dayErrors }: CountRow) => {
    if (name === undefined) return
    const sum = sums.get(name)
    sums.set(name, {
      hour: hour + (sum?.hour ?? 0),
      day: day + (sum?.day ?? 0),
      hourErrors: hourErrors + (sum?.hourErrors ?? 0),
      dayErrors: dayErrors + (sum?.dayErrors ?? 0),
    })
  }
  const inbound = new Map(
    functions.flatMap((each) => (each.kind === 'inbound' ? [[each.inbound, each.name]] : [])),
  )
  const jobs = new Map(functions.flatMap((each) => jobNameOf(each).map((type) => [type, each.name] as const)))
  const afters = functions.flatMap((each) => (each.kind === 'after' ? [each.name] : []))

  const requests = await countRequests(database)
  for (const row of requests) add(nameOfRequest(row, inbound, knownRoutes), row)
  const runs = jobs.size === 0 ? [] : await countRuns(database, [...jobs.keys()])
  for (const row of runs) add(jobs.get(row.type), row)
  const attempts = afters.length === 0 ? [] : await countAttempts(database, afters)
  for (const row of attempts) add(row.name, row)

  const total = requests.reduce((sum, { day }) => sum + day, 0)
  const isComplete =
    total < requestLimit &&
    runs.every(({ jobs: counted }) => counted < jobLimit) &&
    attempts.every(({ day }) => day < attemptLimit)
  const items = [...sums].map(([name, { hour, day, hourErrors, dayErrors }]) => ({
    name,
    calls: { hour, day },
    errors: { hour: hourErrors, day: dayErrors },
  }))
  return { items, isComplete }
}

/** Returns the type of the jobs of a function, if it has some. */
function jobNameOf(each: FunctionDescription): readonly string[] {
  if (each.kind === 'job') return [each.job]
  return each.kind === 'schedule' ? [`function:${each.name}`] : []
}

interface RequestRow extends CountRow {
  readonly method: string
  readonly path: string
}

/** Counts requests by method and path. An index has the requests of functions. */
async function countRequests(database: Queryable): Promise<RequestRow[]> {
  return await database.many<RequestRow>(sql`
    select method, path, ${counts(sql`happened_at`, sql`status >= 500`)}
    from (
      select method, path, status, happened_at
      from basalt.requests
      where starts_with(operation, 'functions') and not starts_with(path, '/api/admin/') and ${isOfDay(sql`happened_at`)}
      order by happened_at desc
      limit ${requestLimit}::int
    ) found
    group by method, path`)
}

function nameOfRequest(
  { method, path }: RequestRow,
  inbound: ReadonlyMap<string, string>,
  routes: FunctionHost['knownRoutes'],
): string | undefined {
  const called = method === 'HEAD' ? 'GET' : method
  const [, kind, rest = ''] = /^\/(api\/functions|functions\/v1)\/(.*)$/.exec(path) ?? []
  if (kind === undefined) return undefined
  if (kind === 'functions/v1') return routes?.findNamed(called, decode(rest))?.function.name
  const [, receiver] = /^inbound\/([^/]+)$/.exec(rest) ?? []
  if (receiver !== undefined) return inbound.get(receiver)
  return routes?.find(called, `/${rest}`)?.function.name
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Counts ended attempts of jobs by type. */
async function countRuns(
  database: Queryable,
  types: readonly string[],
): Promise<(CountRow & { readonly type: string; readonly jobs: number })[]> {
  return await database.many(sql`
    select t.type, count(distinct job.id)::int as jobs, ${counts(sql`run."finishedAt"`, sql`run.status = 'failed'`)}
    from unnest(${types}::text[]) t (type)
    cross join lateral (
      select j.id, j.runs from basalt.jobs j where j.type = t.type
      order by j.created_at desc, j.id desc limit ${jobLimit}::int
    ) job
    cross join lateral jsonb_to_recordset(job.runs) run (status text, "finishedAt" timestamptz)
    where ${isOfDay(sql`run."finishedAt"`)}
    group by t.type`)
}

/** Counts attempts to handle a change by function. */
async function countAttempts(
  database: Queryable,
  names: readonly string[],
): Promise<(CountRow & { readonly name: string })[]> {
  return await database.many(sql`
    select w.function_name as name, ${counts(sql`attempt.delivered_at`, sql`not attempt.success`)}
    from basalt.webhooks w
    cross join lateral (
      select d.delivered_at, d.success from basalt.webhook_deliveries d
      where d.webhook_id = w.id and ${isOfDay(sql`d.delivered_at`)}
      order by d.delivered_at desc, d.id limit ${attemptLimit}::int
    ) attempt
    where w.function_name = any (${names}::text[])
    group by w.function_name`)
}
