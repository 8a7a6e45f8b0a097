import type { SystemDatabase } from '../../../database/system-database.ts'
import { httpErrors } from '../../../http/errors.ts'
import { readChoice, readOffset, readTimeRange, readUuid } from '../../../http/filters.ts'
import type { Metrics } from '../../../http/metrics.ts'
import type { HttpServer } from '../../../http/server.ts'
import { levelNames, levels, nameLevel } from './entry.ts'
import { logErrors } from './errors.ts'
import {
  type LogFilter,
  type LogPosition,
  type LogRow,
  listLogs,
  listRequests,
  type StatusRange,
  takeSnapshot,
} from './queries.ts'
import * as schemas from './schemas.ts'
import { listIndexSuggestions, listStatements, statementOrders } from './statements.ts'
import type { LogTails } from './tail.ts'

export interface LogRoutesDeps {
  readonly database: SystemDatabase
  readonly tails: LogTails
  readonly metrics: Metrics
  /** Names this process. */
  readonly node: string
  readonly schemas: readonly string[]
  readonly poolSize: number
}

/** What happened: the log, the requests, the statements, and the state of a node. */
export function logRoutes(app: HttpServer, deps: LogRoutesDeps): void {
  const { database, tails, metrics } = deps

  app.get(
    '/api/admin/logs',
    { config: { guard: 'admin', operation: 'logs.list' }, schema: schemas.listLogsSchema },
    async (request, reply) => {
      const { since, until, limit, cursor } = request.query
      const range = readTimeRange({ from: since, to: until }, ['since', 'until'])
      const size = schemas.logLimit.read(limit)
      const position = cursor === undefined ? undefined : readCursor(cursor)
      const filter = { ...readLogFilter(request.query), ...range }
      const rows = await listLogs(database, filter, position, size + 1)
      const page = rows.slice(0, size)
      const last = page.at(-1)
      return reply.send({
        entries: page.map(showEntry),
        ...(rows.length > size && last !== undefined
          ? { nextCursor: `${last.time.getTime()}_${last.id}` }
          : {}),
      })
    },
  )

  app.get(
    '/api/admin/logs/tail',
    {
      config: { guard: 'admin', operation: 'logs.tail' },
      schema: schemas.tailLogsSchema,
      // A HEAD request would open a stream without a reader.
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      const filter = readLogFilter(request.query)
      const given = request.headers['last-event-id']
      const isSnapshot =
        typeof given === 'string' && /^\d{1,20}:\d{1,20}:(\d{1,20}(,\d{1,20})*)?$/.test(given)
      tails.open(reply, filter, isSnapshot ? given : await takeSnapshot(database))
      return reply
    },
  )

  app.get(
    '/api/admin/analytics/requests',
    { config: { guard: 'admin', operation: 'analytics.requests' }, schema: schemas.listRequestsSchema },
    async (request, reply) => {
      const { query } = request
      const page = { limit: schemas.requestLimit.read(query.limit), offset: readOffset(query.offset) }
      const rows = await listRequests(
        database,
        {
          ...readTimeRange({ from: query.from, to: query.to }),
          method: query.method,
          path: query.path,
          requestId: query.request_id,
          status: query.status === undefined ? undefined : readStatus(query.status),
          leastMs: readOptional(query.min_duration_ms, readDuration),
          userId: readOptional(query.user_id, (text) => readUuid('user_id filter', text)),
          keyId: readOptional(query.api_key_id, (text) => readUuid('api_key_id filter', text)),
          appId: readOptional(query.app_id, (text) => readUuid('app_id filter', text)),
        },
        page,
      )
      const items = rows.map((row) => ({
        id: row.id,
        timestamp: row.happened_at.toISOString(),
        method: row.method,
        path: row.path,
        operation: row.operation,
        status_code: row.status,
        duration_ms: Math.round(row.duration_ms * 1000) / 1000,
        user_id: row.user_id,
        api_key_id: row.api_key_id,
        app_id: row.app_id,
        request_size: row.request_size,
        response_size: row.response_size,
        ip_address: row.address,
        request_id: row.request_id,
        impersonated_by: row.impersonated_by,
        node: row.node,
      }))
      return reply.send({ items, count: items.length, ...page })
    },
  )

  app.get(
    '/api/admin/analytics/queries',
    { config: { guard: 'admin', operation: 'analytics.queries' }, schema: schemas.listStatementsSchema },
    async (request, reply) => {
      const order = readChoice('sort', request.query.sort ?? 'total_time', statementOrders)
      const limit = schemas.statementLimit.read(request.query.limit)
      const items = await listStatements(database, order, limit)
      const suggestions = await listIndexSuggestions(database, deps.schemas)
      return reply.send({ items: [...items], count: items.length, index_suggestions: [...suggestions] })
    },
  )

  app.get(
    '/api/admin/stats',
    { config: { guard: 'admin', operation: 'stats.get' }, schema: schemas.statsSchema },
    async (_request, reply) => {
      const { heapUsed, rss } = process.memoryUsage()
      const { busy, idle } = metrics.poolStats()
      return reply.send({
        uptime_seconds: Math.round(process.uptime()),
        node: deps.node,
        node_version: process.version,
        active_resources: process.getActiveResourcesInfo().length,
        memory_alloc: heapUsed,
        memory_sys: rss,
        gc_cycles: await metrics.countCollections(),
        db_pool_total: busy + idle,
        db_pool_idle: idle,
        db_pool_in_use: busy,
        db_pool_max: deps.poolSize,
      })
    },
  )
}

function readOptional<Value>(text: string | undefined, read: (text: string) => Value): Value | undefined {
  return text === undefined ? undefined : read(text)
}

/** @throws AppError invalid_list_parameter */
export function readLogFilter(query: {
  readonly level?: string | undefined
  readonly q?: string | undefined
  readonly requestId?: string | undefined
}): LogFilter {
  return {
    level: readOptional(query.level, (text) => levels[readChoice('level', text, levelNames)]),
    text: query.q === '' ? undefined : query.q,
    requestId: query.requestId,
  }
}

/** `404`, or `4xx` for all from 400. */
function readStatus(text: string): StatusRange {
  const [, first, rest] = /^([1-5])(\d\d|xx)$/.exec(text) ?? []
  if (first === undefined || rest === undefined)
    throw httpErrors.invalidListParameter('status filter', 'expected an HTTP status')
  const least = Number(first) * 100 + (rest === 'xx' ? 0 : Number(rest))
  return { least, most: rest === 'xx' ? least + 99 : least }
}

function readDuration(text: string): number {
  if (!/^\d{1,9}(\.\d{1,3})?$/.test(text))
    throw httpErrors.invalidListParameter('min_duration_ms filter', 'expected a number of milliseconds')
  return Number(text)
}

function readCursor(text: string): LogPosition {
  const [, time = '', id = ''] = /^(\d{1,15})_(-?\d{1,18})$/.exec(text) ?? []
  if (id === '') throw logErrors.invalidLogCursor()
  return { time: new Date(Number(time)), id }
}

export function showEntry({ time, level, message, attrs, node, request_id }: LogRow) {
  return {
    time: time.toISOString(),
    level: nameLevel(level),
    message,
    attrs,
    node,
    requestId: request_id,
  }
}
