import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import type { Database } from '../../../database/open.ts'
import type { Feature } from '../../../feature.ts'
import { type RequestLimiter, verifyToken } from '../../../http/access/authentication.ts'
import { type CallerLimiter, limitedCaller } from '../../../http/access/caller-limiter.ts'
import { openIdentity, type TokenVerifier } from '../../../http/access/identity.ts'
import type { Origins } from '../../../http/access/origins.ts'
import type { Metrics } from '../../../http/observation/metrics.ts'
import { addOperations } from '../../../http/operation.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { GraphqlStreams } from '../../data/graphql/index.ts'
import { createViewAs } from '../../data/view-as/index.ts'
import type { EventTriggers, Interests } from '../outbox/index.ts'
import { EventSelector } from './changes/select-events.ts'
import { pruneSent } from './changes/sent-log.ts'
import { SubscriptionPlanner } from './changes/subscriptions.ts'
import { deleteExpiredTables, TableRegistry } from './changes/table-registry.ts'
import { ChannelAccess } from './channels/channel-access.ts'
import { channelTopic } from './channels/channel-messages.ts'
import { ChannelRequests } from './channels/channel-requests.ts'
import { Channels } from './channels/channels.ts'
import { readBroadcast } from './channels/function-broadcast.ts'
import { Presences } from './channels/presences.ts'
import type { RealtimeConfig } from './config.ts'
import { createGraphqlStreams } from './graphql/streams.ts'
import { realtimeAdminOperations } from './operations.ts'
import { type OpenPopup, realtimeRoutes } from './routes.ts'
import { type Listener, listenerOf } from './stream.ts'
import { Streams } from './streams.ts'
import { TableRequests } from './websocket/table-requests.ts'
import { WebSocketHandshake } from './websocket/websocket-handshake.ts'
import { websocketRoute } from './websocket/websocket-route.ts'
import { contractTiming, type WebSocketTiming } from './websocket/websocket-timing.ts'
import { WebSockets } from './websocket/websockets.ts'

export { deleteExpiredTables } from './changes/table-registry.ts'
export { realtimeErrorTable } from './errors.ts'
export type { OpenPopup } from './routes.ts'

/**
 * Maximum size of a broadcast message beside its payload. A broadcast that exceeds its limit by less receives an error.
 */
const frameOverheadBytes = 16 * 1024
const anonymous: Listener = { scope: openIdentity.scope, userId: undefined, token: undefined }

export interface RealtimeDeps {
  readonly config: RealtimeConfig
  readonly database: Pick<Database, 'system' | 'user' | 'aside' | 'isOnlyNode'>
  readonly catalog: LiveCatalog
  readonly interests: Interests
  readonly triggers: Pick<EventTriggers, 'install'>
  readonly queue: Pick<JobQueue, 'define'>
  readonly notifications: Notifications
  readonly verifiers: readonly TokenVerifier[]
  readonly limiter: RequestLimiter
  readonly callerLimiter?: CallerLimiter | undefined
  /** True unless `auth.enabled` is false. */
  readonly isAuthRequired: boolean
  readonly isDevelopment: boolean
  /** Origins whose pages may open WebSockets. */
  readonly origins: Origins
  readonly metrics: Metrics
  readonly version: string
  readonly clock: Clock
  readonly log: Logger
  /** Handler of streams that wait for a sign-in with a provider; undefined without auth. */
  readonly openPopup?: OpenPopup | undefined
  /** Maximum bytes of a message with a GraphQL operation. */
  readonly messageLimitBytes: number
  /** Timeouts of WebSockets; for tests. */
  readonly timing?: Partial<WebSocketTiming>
}

/** Feature that sends changes to clients as they happen. */
export interface Realtime extends Feature {
  /** Streams of GraphQL subscriptions. */
  readonly graphqlStreams: GraphqlStreams
  /** Broadcasts of functions, which other code inserts. */
  readonly broadcasts: {
    readonly read: (message: object) => ReturnType<typeof readBroadcast>
    /** Delivers the inserted broadcasts, after the commit. */
    readonly announce: () => void
  }
}

/** Creates the feature. */
export function realtime({
  config,
  database: { system, user, aside, isOnlyNode },
  catalog,
  interests,
  triggers,
  queue,
  notifications,
  verifiers,
  limiter,
  callerLimiter,
  isAuthRequired,
  isDevelopment,
  origins,
  metrics,
  version,
  clock,
  log,
  openPopup,
  messageLimitBytes,
  timing: changedTiming,
}: RealtimeDeps): Realtime {
  const timing = { ...contractTiming, ...changedTiming }
  const selector = new EventSelector({ live: catalog, system, user, log })
  const registry = new TableRegistry({
    database: system,
    live: catalog,
    log,
    resumeSeconds: config.resume_seconds,
    expect: (tables) => interests.expect(tables),
    async settled(tables) {
      if (await triggers.install(tables)) {
        interests.refresh().catch(() => undefined)
        return 'by triggers'
      }
      // A write that waits for a connection started before the table was expected.
      if ((await isOnlyNode()) && user.stats.waiting === 0) {
        await interests.refresh()
        return 'by the only node'
      }
      await interests.settled()
      return 'after a wait'
    },
  })
  const verify = (token: string) => verifyToken(verifiers, token)
  const streams = new Streams({
    config,
    isDevelopment,
    live: catalog,
    database: system,
    openAside: aside.open,
    notifications,
    selector,
    registry,
    verify,
    log,
  })
  metrics.watchStreams(() => streams.counts)
  metrics.watchDropped('realtime_sent', () => streams.feed.unrecorded)
  const planner = new SubscriptionPlanner(catalog, system)
  const presences = new Presences({
    database: system,
    notifications,
    node: streams.node,
    leaveSeconds: config.presence_leave_timeout_seconds,
    log,
  })
  const access = new ChannelAccess(system, user, log)
  const channels = new Channels({
    database: system,
    notifications,
    node: streams.node,
    presences,
    access,
    accessMs: timing.accessMs,
    noteChange: (stream) => streams.noteChange(stream),
    log,
  })
  const sockets = new WebSockets({
    config,
    streams,
    planner,
    channels,
    tableRequests: new TableRequests({ planner, feed: streams.feed, log }),
    channelRequests: new ChannelRequests({ channels, presences, access, config, accessMs: timing.accessMs }),
    authenticate: async (token) => {
      const verdict = await verify(token)
      if (!('identity' in verdict) || verdict.identity.kind !== 'user') return undefined
      const refusal = await limiter.admit(verdict.identity)
      if (refusal !== undefined) throw refusal
      // The handshake counted the address.
      const { userId } = limitedCaller(verdict.identity, '')
      const admission = await callerLimiter?.admit({ userId })
      if (admission?.refusal !== undefined) throw admission.refusal
      return listenerOf(verdict.identity, token)
    },
    anonymous: isAuthRequired ? undefined : anonymous,
    log,
    timing,
  })
  const graphqlStreams = createGraphqlStreams({
    streams,
    live: catalog,
    planner,
    feed: streams.feed,
    verify,
    async countRequest(identity, address) {
      const admission = await callerLimiter?.admit(limitedCaller(identity, address))
      if (admission?.refusal !== undefined) return admission.refusal
      return identity.kind === 'user' ? await limiter.admit(identity) : undefined
    },
    openIdentity: isAuthRequired ? undefined : openIdentity,
    origins,
    messageLimitBytes,
    timing,
    log,
  })
  queue.define(
    housekeeping('realtime_cleanup', async () => {
      await deleteExpiredTables(system)
      await pruneSent(system, config.sent_retention_hours)
    }),
  )
  return {
    name: 'realtime',
    graphqlStreams,
    broadcasts: {
      read: (message) => readBroadcast(message, config.broadcast_max_message_bytes),
      announce: () => notifications.announce(channelTopic),
    },
    routes(app) {
      realtimeRoutes(app, { streams, planner, log, openPopup })
      const handshake = new WebSocketHandshake(config.broadcast_max_message_bytes + frameOverheadBytes)
      websocketRoute(app, { streams, sockets, handshake, origins })
      const viewAs = createViewAs(system, 'realtime.preview')
      const admin = { database: system, streams, planner, selector, viewAs, version, clock }
      addOperations(app, admin, realtimeAdminOperations)
    },
    drain() {
      streams.drain()
      sockets.drain()
      graphqlStreams.drain()
    },
    async stop() {
      registry.stop()
      await channels.stop()
      await streams.stop()
    },
  }
}
