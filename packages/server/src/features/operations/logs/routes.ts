import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Metrics } from '../../../http/observation/metrics.ts'
import { readChoice, readOffset, readTimeRange } from '../../../http/requests/filters.ts'
import type { HttpServer } from '../../../http/server.ts'
import { readCursor, readLogFilter, readRequestFilter, writeCursor } from './parameters.ts'
import { listLogs, listRequests, takeSnapshot } from './queries.ts'
import * as schemas from './schemas.ts'
import { showEntry, showRequest } from './show.ts'
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
      const { rows, end } = await listLogs(database, filter, position, size + 1)
      const page = rows.slice(0, size)
      const next = rows.length > size ? page.at(-1) : end
      return reply.send({
        entries: page.map(showEntry),
        ...(next === undefined ? {} : { nextCursor: writeCursor(next) }),
        ...(end === undefined ? {} : { searchedTo: end.time.toISOString() }),
      })
    },
  )

  app.get(
    '/api/admin/logs/tail',
    {
      config: { guard: 'admin', operation: 'logs.tail', eventStream: true },
      schema: schemas.tailLogsSchema,
      // A HEAD request would open a stream without a reader.
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      tails.requireOpen()
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
      const { rows, searchedTo } = await listRequests(database, readRequestFilter(query), page)
      const items = rows.map(showRequest)
      return reply.send({
        items,
        count: items.length,
        ...page,
        ...(searchedTo === undefined ? {} : { searchedTo: searchedTo.toISOString() }),
      })
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
