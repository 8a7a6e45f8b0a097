import type { SystemDatabase } from '../../../database/system-database.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import type { AdminIdentity } from '../../../http/access/identity.ts'
import { holds } from '../../../http/access/permissions.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import type { Metrics } from '../../../http/observation/metrics.ts'
import { ok, operation } from '../../../http/operation.ts'
import {
  choiceParameter,
  instantParameter,
  limitParameter,
  offsetParameter,
  readTimeRange,
  type TimeRange,
  uuidParameter,
} from '../../../http/requests/filters.ts'
import { choice, described, offsetPageOf, refusedWith, timestamp } from '../../../http/schemas.ts'
import type { Clock } from '../../../lib/clock.ts'
import { Type } from '../../../lib/type.ts'
import { logErrors } from './errors.ts'
import { countByTime, Histogram } from './histogram.ts'
import { Latency, type LatencyStep, latencySteps, listLatency, stepMs } from './latency.ts'
import { levelNames } from './line.ts'
import { LogEntry, logSource, searchLogs } from './log.ts'
import { LoggedRequest, requestSource, searchRequests } from './request.ts'
import {
  IndexSuggestion,
  listIndexSuggestions,
  listStatements,
  Statement,
  statementOrders,
} from './statements.ts'

export interface LogDeps {
  readonly database: SystemDatabase
  readonly metrics: Metrics
  readonly clock: Clock
  /** Name of this process. */
  readonly node: string
  readonly config: { readonly schemas: readonly string[] }
}

const common = { guard: 'admin', permission: 'operations.read', tag: 'operations' } as const

/** Parameters that filter entries of the log. */
export const logFilter = {
  level: choiceParameter('level', levelNames, { description: 'Minimum level.' }),
  q: Type.Optional(
    Type.String({
      description:
        'Text in the message or the attributes, in any case. A page of a list searches 20,000 entries.',
    }),
  ),
  requestId: Type.Optional(
    Type.String({ description: 'Entries of one request, including the request itself.' }),
  ),
}

/** Restricts a filter of the log to the part of entries that the administrator may read. */
export const readableBy = <Filter extends object>({ role }: Pick<AdminIdentity, 'role'>, filter: Filter) => ({
  ...filter,
  isBrief: !holds(role, 'bodies.read'),
})

const logLimit = limitParameter(100, 1000)

const listLogs = operation({
  ...common,
  id: 'logs.list',
  method: 'GET',
  path: '/api/admin/logs',
  summary: 'List the log of all nodes',
  description:
    'The newest entries come first. The role `viewer` gets first lines of messages, without attributes.',
  query: Type.Object({
    ...logFilter,
    since: instantParameter,
    until: instantParameter,
    limit: logLimit.schema,
    cursor: Type.Optional(
      refusedWith(
        { invalid: logErrors.invalidLogCursor },
        Type.String({
          pattern: '^\\d{1,15}_-?\\d{1,18}$',
          description: '`nextCursor` of the previous page.',
        }),
      ),
    ),
  }),
  success: ok(
    Type.Object({
      entries: Type.Array(LogEntry),
      nextCursor: Type.Optional(Type.String({ description: 'Missing on the last page.' })),
      searchedTo: Type.Optional(
        described(
          'Time of the last entry read, if the search for a text ended the page. `nextCursor` continues there.',
          timestamp,
        ),
      ),
    }),
  ),
  async handle({ database }: LogDeps, { query: { since, until, limit, cursor, ...others }, http }) {
    const filter = readableBy(adminOf(http), others)
    const range = readTimeRange({ from: since, to: until }, ['since', 'until'])
    const size = logLimit.read(limit)
    const [time, id = ''] = cursor?.split('_') ?? []
    const before = time === undefined ? undefined : { time: new Date(Number(time)), id }
    const { rows, end } = await searchLogs(database, { ...filter, ...range }, before, size + 1)
    const page = rows.slice(0, size)
    const next = rows.length > size ? page.at(-1) : end
    return {
      entries: page.map(({ id: _, ...entry }) => entry),
      nextCursor: next === undefined ? undefined : `${next.time.getTime()}_${next.id}`,
      searchedTo: end?.time,
    }
  },
})

const requestLimit = limitParameter(100, 500)
const text = Type.Optional(Type.String())

/** Parameters that filter requests. */
const requestFilter = {
  method: text,
  path: Type.Optional(Type.String({ description: 'Path, in which `*` matches any text.' })),
  status: Type.Optional(
    refusedWith(
      { invalid: () => httpErrors.invalidListParameter('status filter', 'expected an HTTP status') },
      Type.String({
        pattern: '^[1-5](\\d\\d|xx)$',
        description: 'HTTP status, or a class such as `4xx`.',
      }),
    ),
  ),
  min_duration_ms: Type.Optional(
    refusedWith(
      {
        invalid: () =>
          httpErrors.invalidListParameter('min_duration_ms filter', 'expected a number of milliseconds'),
      },
      Type.String({ pattern: '^\\d{1,9}(\\.\\d{1,3})?$', description: 'A number.' }),
    ),
  ),
  user_id: uuidParameter('user_id'),
  api_key_id: uuidParameter('api_key_id'),
  app_id: uuidParameter('app_id'),
  request_id: text,
}

const listRequests = operation({
  ...common,
  id: 'analytics.requests',
  method: 'GET',
  path: '/api/admin/analytics/requests',
  summary: 'List the requests to all nodes',
  description:
    'The newest requests come first. Indexes serve `user_id`, `api_key_id`, `request_id`, `from`, `to`, and a `status` from 400 on. The other filters apply to the newest 20,000 of these requests.',
  query: Type.Object({
    ...requestFilter,
    from: instantParameter,
    to: instantParameter,
    limit: requestLimit.schema,
    offset: offsetParameter,
  }),
  success: ok(
    Type.Object({
      ...offsetPageOf(LoggedRequest).properties,
      searchedTo: Type.Optional(
        described(
          'Time of the oldest request read, if the limit ended the search. Continue with this time as `to`.',
          timestamp,
        ),
      ),
    }),
  ),
  async handle({ database }: LogDeps, { query: { from, to, limit, offset = 0, ...filter } }) {
    const page = { limit: requestLimit.read(limit), offset }
    const range = readTimeRange({ from, to })
    const { rows: items, end } = await searchRequests(database, { ...filter, ...range }, page)
    return { items, count: items.length, ...page, searchedTo: end?.timestamp }
  },
})

const day = 24 * stepMs.hour

/** Reads the range of a histogram. @throws AppError invalid_list_parameter */
function readHistogramRange(range: TimeRange, now: Date, name: string) {
  const to = range.to ?? now
  const from = range.from ?? new Date(to.getTime() - day)
  if (from >= to) throw httpErrors.invalidListParameter(`${name} filter`, 'must not be in the future')
  return { from, to }
}

const histogramDescription =
  'The range is divided into 60 steps, and is the last day unless set. Filters are those of the list.'

const countLogs = operation({
  ...common,
  id: 'logs.histogram',
  method: 'GET',
  path: '/api/admin/logs/histogram',
  summary: 'Count the log of all nodes over time',
  description: histogramDescription,
  query: Type.Object({ ...logFilter, since: instantParameter, until: instantParameter }),
  success: ok(Histogram),
  async handle({ database, clock }: LogDeps, { query: { since, until, ...others }, http }) {
    const filter = readableBy(adminOf(http), others)
    const range = readTimeRange({ from: since, to: until }, ['since', 'until'])
    return await countByTime(database, logSource(filter), readHistogramRange(range, clock.now(), 'since'))
  },
})

const countRequests = operation({
  ...common,
  id: 'analytics.histogram',
  method: 'GET',
  path: '/api/admin/analytics/requests/histogram',
  summary: 'Count the requests to all nodes over time',
  description: histogramDescription,
  query: Type.Object({ ...requestFilter, from: instantParameter, to: instantParameter }),
  success: ok(Histogram),
  async handle({ database, clock }: LogDeps, { query: { from, to, ...filter } }) {
    const range = readHistogramRange(readTimeRange({ from, to }), clock.now(), 'from')
    return await countByTime(database, requestSource(filter), range)
  },
})

const statementLimit = limitParameter(50, 500)

const listQueries = operation({
  ...common,
  id: 'analytics.queries',
  permission: 'sql.read',
  method: 'GET',
  path: '/api/admin/analytics/queries',
  summary: 'List the slowest statements',
  description: 'The data come from the extension pg_stat_statements. Without it the response is 503.',
  query: Type.Object({
    sort: choiceParameter('sort', statementOrders, { description: 'Default: total_time.' }),
    limit: statementLimit.schema,
  }),
  success: ok(
    Type.Object({
      items: Type.Array(Statement),
      count: Type.Integer(),
      index_suggestions: Type.Array(IndexSuggestion, {
        description: 'Large tables that are often read by sequential scans.',
      }),
    }),
  ),
  async handle({ database, config }: LogDeps, { query: { sort = 'total_time', limit } }) {
    const items = await listStatements(database, sort, statementLimit.read(limit))
    const suggestions = await listIndexSuggestions(database, config.schemas)
    return { items, count: items.length, index_suggestions: suggestions }
  },
})

const reportLatency = operation({
  ...common,
  id: 'analytics.latency',
  method: 'GET',
  path: '/api/admin/analytics/latency',
  summary: 'Report requests and their latency over time',
  description: 'The data come from the stored requests (`logging.retention_days`) of all nodes.',
  query: Type.Object({
    step: choiceParameter('step', latencySteps, { description: 'Default: minute.' }),
    from: described('RFC 3339 or YYYY-MM-DD. Default: an hour ago.', instantParameter),
    to: described('RFC 3339 or YYYY-MM-DD. Default: now.', instantParameter),
    operation: Type.Optional(Type.String({ description: 'Operation such as `collections.list`.' })),
    app_id: uuidParameter('app_id'),
  }),
  success: ok(Type.Object({ step: choice(latencySteps), items: Type.Array(Latency) })),
  async handle({ database, clock }: LogDeps, { query }) {
    const { step = 'minute', from, to, operation, app_id: appId } = query
    const span = readSpan(step, readTimeRange({ from, to }), clock.now())
    return { step, items: await listLatency(database, step, { ...span, operation, appId }) }
  },
})

/** Maximum number of steps. A chart of more is unreadable. */
const mostSteps = 1500

/** Reads the range of a report. @throws AppError invalid_list_parameter */
function readSpan(step: LatencyStep, range: TimeRange, now: Date) {
  const to = range.to ?? now
  const from = range.from ?? new Date(to.getTime() - stepMs.hour)
  const steps = (to.getTime() - from.getTime()) / stepMs[step]
  if (steps > mostSteps) {
    const expected = `at most ${mostSteps} steps of a ${step} before \`to\``
    throw httpErrors.invalidListParameter('from filter', expected)
  }
  if (steps < 0) throw httpErrors.invalidListParameter('from filter', 'must not be in the future')
  return { from, to }
}

const getStats = operation({
  ...common,
  id: 'stats.get',
  method: 'GET',
  path: '/api/admin/stats',
  summary: 'Get the state of the responding node',
  success: ok(
    Type.Object({
      uptime_seconds: Type.Number(),
      node: Type.String(),
      node_version: Type.String(),
      active_resources: Type.Integer(),
      memory_alloc: Type.Integer({ description: 'Heap in use in bytes.' }),
      memory_sys: Type.Integer({ description: 'Resident memory of the process in bytes.' }),
      gc_cycles: Type.Integer(),
      db_pool_total: Type.Integer(),
      db_pool_idle: Type.Integer(),
      db_pool_in_use: Type.Integer(),
      db_pool_max: Type.Integer(),
    }),
  ),
  async handle({ metrics, node }: LogDeps) {
    const { heapUsed, rss } = process.memoryUsage()
    const { busy, idle } = metrics.poolStats()
    return {
      uptime_seconds: Math.round(process.uptime()),
      node,
      node_version: process.version,
      active_resources: process.getActiveResourcesInfo().length,
      memory_alloc: heapUsed,
      memory_sys: rss,
      gc_cycles: await metrics.countCollections(),
      db_pool_total: busy + idle,
      db_pool_idle: idle,
      db_pool_in_use: busy,
      db_pool_max: metrics.connectionLimit(),
    }
  },
})

/** Operations on the log, requests, statements and state of nodes. */
export const logOperations = [
  listLogs,
  countLogs,
  listRequests,
  countRequests,
  listQueries,
  reportLatency,
  getStats,
]
