import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { identityOf, isSignInStream } from '../../../http/access/authentication.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { addressKey } from '../../../http/requests/client-address.ts'
import { bearerSecurity, refusedWith, responses } from '../../../http/schemas.ts'
import type { HttpServer } from '../../../http/server.ts'
import { messageOf } from '../../../lib/errors.ts'
import { Type } from '../../../lib/type.ts'
import { parseFilter } from './changes/parse-filter.ts'
import { parsePosition } from './changes/position.ts'
import { parseTables, type SubscriptionPlanner } from './changes/subscriptions.ts'
import { realtimeErrors } from './errors.ts'
import { SseTransport } from './sse-transport.ts'
import { listenerOf, Stream } from './stream.ts'
import type { Streams } from './streams.ts'

/** Handler that opens a stream for the tokens of a sign-in in another browser window. */
export type OpenPopup = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

export interface RealtimeRoutesDeps {
  readonly streams: Streams
  readonly planner: SubscriptionPlanner
  readonly log: Logger
  readonly openPopup: OpenPopup | undefined
}

/** Parameters that select what a client subscribes to. */
export const subscriptionParameters = {
  tables: refusedWith(
    { missing: realtimeErrors.tablesRequired },
    Type.String({
      minLength: 1,
      format: 'table-list',
      description: 'Tables to subscribe to, separated by commas. A name with a comma goes in double quotes.',
    }),
  ),
  filter: Type.Optional(
    Type.String({
      format: 'stream-filter',
      description:
        'Conditions `column=operator.value`, joined by commas, all of which must match. The operators are eq, neq, gt, ' +
        'gte, lt, lte and in. The values of `in` are separated by `|`. A value with a comma goes in double quotes.',
    }),
  ),
}

const lastEventId = Type.Optional(
  Type.String({ description: 'Value of `Last-Event-ID`, for clients that cannot set headers.' }),
)

const common = {
  tags: ['realtime'],
  security: bearerSecurity,
  response: responses({
    200: { description: 'Stream of events.', content: { 'text/event-stream': { schema: Type.String() } } },
  }),
}

const streamSchema = {
  ...common,
  summary: 'Subscribe to changes',
  description:
    'Sends server-sent events. The first one is `connected` with `{"clientId"}`. Each change is an event without a name, ' +
    '`{"action","table","record"}`, with the whole record after a create or update, and the primary key as texts after a ' +
    'delete. An update after which the caller may no longer read the record is delivered as a delete. `gap` means that ' +
    'events are missing. `close` with `{"reason","message","retryMs"}` says why the stream ends and when to reconnect, if ' +
    'at all. A temporary refusal, such as while a node stops, is sent as such a `close` alone if the request accepts ' +
    '`text/event-stream`, otherwise as 503 or 429. Every event has an id. Sent back as `Last-Event-ID`, it resumes the ' +
    'stream after that event.',
  querystring: Type.Object({
    ...subscriptionParameters,
    tables: Type.Optional(
      Type.String({
        format: 'table-list',
        description: 'Tables to subscribe to, separated by commas. Required unless `oauth` is `true`.',
      }),
    ),
    lastEventId,
    token: Type.Optional(Type.String({ description: 'Access token, for clients that cannot set headers.' })),
    oauth: Type.Optional(
      Type.String({
        description:
          'With `true` the stream needs no token. It waits for a sign-in with a provider in another window of this ' +
          'browser, whose `state` is the `clientId`, and ends with one event `oauth`.',
      }),
    ),
  }),
}

const adminStreamSchema = {
  ...common,
  summary: 'Subscribe to changes as an administrator',
  description:
    'Works like `GET /api/realtime`, but without policies: it sends every change of every row, with every column. The ' +
    'stream ends with the session of the administrator.',
  querystring: Type.Object({ ...subscriptionParameters, lastEventId }),
}

/**
 * Adds the routes of server-sent events: for callers as their policies permit, and for administrators without policies.
 */
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
          // The query is not validated yet.
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
      config: {
        guard: 'admin',
        permission: 'bodies.read',
        operation: 'realtime.adminStream',
        eventStream: true,
      },
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
  const listener = listenerOf(identityOf(request), request.token)
  const names = parseTables(tables)
  if (tables === '') throw realtimeErrors.tablesRequired()
  if (names.length === 0) throw realtimeErrors.noValidTable()
  const conditions = filter === undefined || filter === '' ? undefined : parseFilter(filter)
  const subscriptions = await planner.plan(listener.scope, names, conditions)
  const from = lastEventIdOf(request) ?? (lastEventId === '' ? undefined : lastEventId)
  const transport = new SseTransport(reply)
  const stream = new Stream(transport, listener, addressKey(request), streams)
  reply.raw.once('close', () => stream.disconnect())
  if (reply.raw.destroyed) stream.disconnect()
  try {
    await streams.admit(stream)
    await streams.feed.subscribe(
      stream,
      subscriptions,
      from === undefined ? undefined : parsePosition(from),
      {
        isResuming: from !== undefined,
        begin: (position, hasGap) => {
          if (stream.isOpen) transport.begin(stream.id, position ?? '', hasGap)
        },
      },
    )
  } catch (error) {
    if (!transport.hasBegun) {
      stream.disconnect()
      throw error
    }
    log.warn({ reason: messageOf(error) }, 'failed to continue a stream; ending it')
    stream.end('server_error')
  }
  if (transport.hasBegun) return reply
  // The stream ended before its response began. The client has disconnected or still waits for a response.
  if (stream.ending === 'client_closed') return reply.hijack()
  throw stream.ending === 'session_ended'
    ? httpErrors.invalidToken()
    : httpErrors.shuttingDown().retryAfter(1)
}

/** Returns the id to resume from. Browsers send the header when they reconnect; other clients can use a parameter. */
export function lastEventIdOf({ headers }: FastifyRequest): string | undefined {
  const header = headers['last-event-id']
  return typeof header === 'string' && header !== '' ? header : undefined
}
