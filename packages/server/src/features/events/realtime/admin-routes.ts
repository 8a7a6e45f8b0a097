import { sortNaturally } from '../../../database/natural-order.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { readLimit, readTimeRange } from '../../../http/requests/filters.ts'
import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import type { Clock } from '../../../lib/clock.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { countPresences } from './channels/presence-queries.ts'
import { listConnections, requestDisconnect, sumCounters } from './connections.ts'
import { realtimeErrors } from './errors.ts'
import type { createPreview } from './preview.ts'
import * as schemas from './schemas.ts'
import type { Streams } from './streams.ts'

const path = '/api/admin/realtime'

export interface RealtimeAdminDeps {
  readonly database: SystemDatabase
  readonly streams: Streams
  readonly preview: ReturnType<typeof createPreview>
  readonly version: string
  readonly clock: Clock
}

/** Open streams and their subscriptions, over all nodes. */
export function realtimeAdminRoutes(
  app: HttpServer,
  { database, streams, preview, version, clock }: RealtimeAdminDeps,
): void {
  app.get(
    `${path}/stats`,
    { config: { guard: 'admin', operation: 'realtime.stats' }, schema: schemas.statsSchema },
    async (_request, reply) => {
      const [rows, counters, presence] = await Promise.all([
        listConnections(database),
        sumCounters(database),
        countPresences(database),
      ])
      const sse = rows.filter(({ transport }) => transport === 'sse').length
      return reply.send({
        version,
        timestamp: clock.now().toISOString(),
        connections: { sse, ws: rows.length - sse, total: rows.length },
        subscriptions: {
          tables: countNames(rows.flatMap(({ tables }) => tables)),
          channels: { broadcast: countNames(rows.flatMap(({ channels }) => channels)), presence },
        },
        counters: {
          dropped_messages: counters.droppedMessages,
          heartbeat_failures: counters.heartbeatFailures,
        },
      })
    },
  )

  app.get(
    `${path}/connections`,
    { config: { guard: 'admin', operation: 'realtime.listConnections' }, schema: schemas.connectionsSchema },
    async (_request, reply) => {
      const rows = await listConnections(database)
      const items = rows.map((row) => ({ ...row, connectedAt: row.connectedAt.toISOString() }))
      return reply.send({ items, count: items.length })
    },
  )

  app.get(
    `${path}/subscriptions`,
    {
      config: { guard: 'admin', operation: 'realtime.listSubscriptions' },
      schema: schemas.subscriptionsSchema,
    },
    async (_request, reply) => {
      const rows = await listConnections(database)
      const items = [
        ...listCounts('table', countNames(rows.flatMap(({ tables }) => tables))),
        ...listCounts('channel', countNames(rows.flatMap(({ channels }) => channels))),
      ]
      return reply.send({ items, count: items.length })
    },
  )

  app.get(
    `${path}/preview`,
    { config: { guard: 'admin', operation: 'realtime.preview' }, schema: schemas.previewSchema },
    async (request, reply) => {
      const { as = 'admin', tables = '', filter, since, cursor, limit } = request.query
      if (cursor !== undefined && !/^\d{1,18}$/.test(cursor))
        throw httpErrors.invalidListParameter('cursor', 'expected the nextCursor of a page')
      const { from } = readTimeRange({ from: since, to: undefined }, ['since', 'until'])
      return reply.send(
        await preview({
          ...{ as, tables, filter, from, cursor, limit: readLimit(limit, 100, 500) },
          viewer: { sessionId: adminOf(request).sessionId, origin: originOf(request) },
        }),
      )
    },
  )

  app.post(
    `${path}/connections/:id/disconnect`,
    { config: { guard: 'admin', operation: 'realtime.disconnect' }, schema: schemas.disconnectSchema },
    async (request, reply) => {
      adminOf(request)
      const { id } = request.params
      await database.transaction(async (transaction) => {
        if (!isUuid(id) || !(await requestDisconnect(transaction, id)))
          throw realtimeErrors.connectionNotFound()
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'realtime.disconnect',
          target: id,
          origin: originOf(request),
        })
      })
      streams.get(id)?.end('disconnected')
      return reply.code(204).send()
    },
  )
}

function countNames(names: readonly string[]): Record<string, number> {
  const counts = new Map<string, number>()
  for (const name of sortNaturally(names, (name) => name)) counts.set(name, (counts.get(name) ?? 0) + 1)
  return Object.fromEntries(counts)
}

function listCounts(kind: 'table' | 'channel', counts: Readonly<Record<string, number>>) {
  return Object.entries(counts).map(([name, connections]) => ({ kind, name, connections }))
}
