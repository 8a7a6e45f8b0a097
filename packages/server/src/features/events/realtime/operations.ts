import { sortNaturally } from '../../../database/natural-order.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import { readViewReason } from '../../../http/access/grants.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { noContent, ok, operation } from '../../../http/operation.ts'
import { limitParameter, readTimeRange } from '../../../http/requests/filters.ts'
import { choice, component, listOf, refusedWith, timestamp, uuid, viewReason } from '../../../http/schemas.ts'
import type { Clock } from '../../../lib/clock.ts'
import { Type } from '../../../lib/type.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { countPresences } from './channels/presence-queries.ts'
import { listConnections, RealtimeConnection, requestDisconnect, sumCounters } from './connections.ts'
import { realtimeErrors } from './errors.ts'
import { type PreviewDeps, preview as previewPast, RealtimePreview } from './preview.ts'
import { subscriptionParameters } from './routes.ts'
import type { Streams } from './streams.ts'

export interface RealtimeAdminDeps extends PreviewDeps {
  readonly database: SystemDatabase
  readonly streams: Pick<Streams, 'get'>
  readonly version: string
  readonly clock: Clock
}

/** Members that all operations below share. */
const common = { guard: 'admin', permission: 'operations.read', tag: 'realtime' } as const
const path = '/api/admin/realtime'

const counts = Type.Record(Type.String(), Type.Integer(), { description: 'Number of streams by name.' })

const RealtimeStats = component(
  'RealtimeStats',
  Type.Object({
    version: Type.String(),
    timestamp,
    connections: Type.Object({ sse: Type.Integer(), ws: Type.Integer(), total: Type.Integer() }),
    subscriptions: Type.Object({
      tables: counts,
      channels: Type.Object({ broadcast: counts, presence: counts }),
    }),
    counters: Type.Object({
      dropped_messages: Type.Integer({
        description: 'Streams ended and messages dropped because of slow clients.',
      }),
      heartbeat_failures: Type.Integer({ description: 'WebSockets that did not respond to a ping in time.' }),
    }),
  }),
)

const stats = operation({
  ...common,
  id: 'realtime.stats',
  method: 'GET',
  path: `${path}/stats`,
  summary: 'Count open streams',
  description: 'Counts the streams of all nodes. The numbers are up to a second old.',
  success: ok(RealtimeStats),
  async handle({ database, version, clock }: RealtimeAdminDeps) {
    const [connections, { droppedMessages, heartbeatFailures }, presence] = await Promise.all([
      listConnections(database),
      sumCounters(database),
      countPresences(database),
    ])
    const sse = connections.filter(({ transport }) => transport === 'sse').length
    return {
      version,
      timestamp: clock.now(),
      connections: { sse, ws: connections.length - sse, total: connections.length },
      subscriptions: {
        tables: countNames(connections.flatMap(({ tables }) => tables)),
        channels: { broadcast: countNames(connections.flatMap(({ channels }) => channels)), presence },
      },
      counters: { dropped_messages: droppedMessages, heartbeat_failures: heartbeatFailures },
    }
  },
})

const list = operation({
  ...common,
  id: 'realtime.listConnections',
  method: 'GET',
  path: `${path}/connections`,
  summary: 'List open streams',
  description: 'Lists the streams of all nodes, oldest first. The list is up to a second old.',
  success: ok(listOf(RealtimeConnection)),
  async handle({ database }: RealtimeAdminDeps) {
    const items = await listConnections(database)
    return { items, count: items.length }
  },
})

const subscriptionKinds = ['table', 'channel'] as const

const RealtimeSubscription = component(
  'RealtimeSubscription',
  Type.Object({ kind: choice(subscriptionKinds), name: Type.String(), connections: Type.Integer() }),
)

const listSubscriptions = operation({
  ...common,
  id: 'realtime.listSubscriptions',
  method: 'GET',
  path: `${path}/subscriptions`,
  summary: 'List subscriptions',
  success: ok(listOf(RealtimeSubscription)),
  async handle({ database }: RealtimeAdminDeps) {
    const connections = await listConnections(database)
    const items = subscriptionKinds.flatMap((kind) => {
      const names = connections.flatMap((each) => (kind === 'table' ? each.tables : each.channels))
      return Object.entries(countNames(names)).map(([name, count]) => ({ kind, name, connections: count }))
    })
    return { items, count: items.length }
  },
})

const limit = limitParameter(100, 500)

const preview = operation({
  ...common,
  id: 'realtime.preview',
  permission: 'access.explain',
  method: 'GET',
  path: `${path}/preview`,
  summary: 'Preview the events of a subscriber',
  description:
    'Returns the events of the log that a subscriber would have received, oldest first. The current policies and rows of other tables decide. A page with items, or one that read a part of the log, has a `nextCursor`.',
  query: Type.Object({
    as: Type.Optional(
      Type.String({ description: 'Subscriber: `admin` (default), `anonymous` or the id of a user.' }),
    ),
    reason: viewReason,
    ...subscriptionParameters,
    since: Type.Optional(
      Type.String({
        description: 'Start of the time range, as RFC 3339 or YYYY-MM-DD. Default: the whole log.',
      }),
    ),
    limit: limit.schema,
    cursor: Type.Optional(
      refusedWith(
        { invalid: () => httpErrors.invalidListParameter('cursor', 'expected the nextCursor of a page') },
        Type.String({ pattern: '^[0-9]{1,18}$', description: '`nextCursor` of the previous page.' }),
      ),
    ),
  }),
  success: ok(RealtimePreview),
  async handle(deps: RealtimeAdminDeps, { query, origin, http }) {
    const { as = 'admin', tables, filter, since, cursor } = query
    const { from } = readTimeRange({ from: since, to: undefined }, ['since', 'until'])
    const administrator = adminOf(http)
    const viewer = { sessionId: administrator.sessionId, origin }
    const isUser = as !== 'admin' && as !== 'anonymous'
    const reason = isUser ? readViewReason(administrator, query.reason) : undefined
    return await previewPast(deps, {
      as,
      tables,
      filter,
      from,
      cursor,
      limit: limit.read(query.limit),
      reason,
      viewer,
    })
  },
})

const disconnect = operation({
  ...common,
  id: 'realtime.disconnect',
  permission: 'operations.write',
  method: 'POST',
  path: `${path}/connections/:id/disconnect`,
  summary: 'End a stream',
  description: 'Ends the stream on whatever node it is, within one or two seconds.',
  params: Type.Object({ id: refusedWith({ invalid: realtimeErrors.connectionNotFound }, uuid) }),
  success: noContent,
  async handle({ database, streams }: RealtimeAdminDeps, { params: { id: target }, origin }) {
    await database.transaction(async (transaction) => {
      if (!(await requestDisconnect(transaction, target))) throw realtimeErrors.connectionNotFound()
      await recordAudit(transaction, { actor: 'admin', action: 'realtime.disconnect', target, origin })
    })
    streams.get(target)?.end('disconnected')
  },
})

/** Operations on open streams and their subscriptions, over all nodes. */
export const realtimeAdminOperations = [stats, list, listSubscriptions, preview, disconnect]

function countNames(names: readonly string[]): Record<string, number> {
  const counts = new Map<string, number>()
  for (const name of sortNaturally(names, (name) => name)) counts.set(name, (counts.get(name) ?? 0) + 1)
  return Object.fromEntries(counts)
}
