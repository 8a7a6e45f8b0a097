import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { identityOf, isSignInStream } from '../../../http/access/authentication.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { addressKey } from '../../../http/requests/client-address.ts'
import type { HttpServer } from '../../../http/server.ts'
import { messageOf } from '../../../lib/errors.ts'
import { parseFilter } from './changes/parse-filter.ts'
import { parsePosition } from './changes/position.ts'
import { parseTables, type SubscriptionPlanner } from './changes/subscriptions.ts'
import { realtimeErrors } from './errors.ts'
import { adminStreamSchema, streamSchema } from './schemas.ts'
import { SseTransport } from './sse-transport.ts'
import { type Listener, listenerOf, Stream } from './stream.ts'
import type { Streams } from './streams.ts'

/** Opens a stream that waits for the tokens of a sign-in in another window of the browser. */
export type OpenPopup = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

export interface RealtimeRoutesDeps {
  readonly streams: Streams
  readonly planner: SubscriptionPlanner
  readonly log: Logger
  readonly openPopup: OpenPopup | undefined
}

/** Changes as server-sent events: to callers as their policies permit, and to administrators without policies. */
export function realtimeRoutes(app: HttpServer, deps: RealtimeRoutesDeps): void {
  const { streams, planner, openPopup } = deps
  app.get(
    '/api/realtime',
    {
      config: {
        guard: 'stream',
        programs: 'read',
        operation: 'realtime.stream',
        eventStream: true,
        admitsAnonymous: ({ query }) => {
          // Not validated yet.
          const { tables } = query as { tables?: unknown }
          return typeof tables === 'string' && planner.admitsAnonymous(parseTables(tables))
        },
      },
      schema: streamSchema,
      // A HEAD request would open a stream without a reader.
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      streams.requireOpen()
      if (isSignInStream(request) && openPopup !== undefined) return await openPopup(request, reply)
      return await openStream(deps, request, reply, request.query)
    },
  )

  app.get(
    '/api/admin/realtime/stream',
    {
      config: { guard: 'admin', operation: 'realtime.adminStream', eventStream: true },
      schema: adminStreamSchema,
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      streams.requireOpen()
      return await openStream(deps, request, reply, request.query)
    },
  )
}

interface StreamQuery {
  readonly tables?: string
  readonly filter?: string
  readonly lastEventId?: string
}

async function openStream(
  { streams, planner, log }: RealtimeRoutesDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { tables = '', filter, lastEventId }: StreamQuery,
): Promise<FastifyReply> {
  const listener = readListener(request)
  const names = parseTables(tables)
  if (tables === '') throw realtimeErrors.tablesRequired()
  if (names.length === 0) throw realtimeErrors.noValidTable()
  const conditions = filter === undefined || filter === '' ? undefined : parseFilter(filter)
  const subscriptions = await planner.plan(listener.scope, names, conditions)
  const from = lastEventIdOf(request) ?? (lastEventId === '' ? undefined : lastEventId)
  const transport = new SseTransport(reply)
  const stream = new Stream(transport, listener, addressKey(request), streams)
  reply.raw.once('close', () => stream.leave())
  if (reply.raw.destroyed) stream.leave()
  try {
    await streams.admit(stream)
    await streams.feed.listen(stream, subscriptions, from === undefined ? undefined : parsePosition(from), {
      isResuming: from !== undefined,
      begin: (position, hasGap) => {
        if (stream.isOpen) transport.begin(stream.id, position ?? '', hasGap)
      },
    })
  } catch (error) {
    if (!transport.hasBegun) {
      stream.leave()
      throw error
    }
    log.warn({ reason: messageOf(error) }, 'failed to continue a stream; ending it')
    stream.end('server_error')
  }
  if (transport.hasBegun) return reply
  // Ended before it had begun: the client has disconnected, or still waits for an answer.
  if (stream.ending === 'gone') return reply.hijack()
  throw stream.ending === 'session_ended'
    ? httpErrors.invalidToken()
    : httpErrors.shuttingDown().retryAfter(1)
}

function readListener(request: FastifyRequest): Listener {
  const identity = identityOf(request)
  if (identity.kind === 'admin') return { scope: identity.scope, userId: undefined, token: request.token }
  if (identity.kind !== 'user') return { scope: identity.scope, userId: undefined, token: undefined }
  return listenerOf(identity, request.token)
}

/** Browsers send the header when they reconnect; another client can name the event as a parameter. */
function lastEventIdOf({ headers }: FastifyRequest): string | undefined {
  const header = headers['last-event-id']
  return typeof header === 'string' && header !== '' ? header : undefined
}
