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

/** Parameters that say what a client subscribes to. */
export const subscriptionParameters = {
  tables: refusedWith(
    { missing: realtimeErrors.tablesRequired },
    Type.String({
      minLength: 1,
      format: 'table-list',
      description: 'Tables to listen to, separated by commas. A name with a comma goes in double quotes.',
    }),
  ),
  filter: Type.Optional(
    Type.String({
      format: 'stream-filter',
      description:
        '`column=operator.value`, joined by commas, all of which must hold; operators are eq, neq, gt, gte, lt, ' +
        'lte and in, whose values are separated by `|`. A value with a comma goes in double quotes.',
    }),
  ),
}

const lastEventId = Type.Optional(
  Type.String({ description: 'What `Last-Event-ID` says, where headers cannot be set.' }),
)

const described = {
  tags: ['realtime'],
  security: bearerSecurity,
  response: responses({
    200: { description: 'The stream.', content: { 'text/event-stream': { schema: Type.String() } } },
  }),
}

const streamSchema = {
  ...described,
  summary: 'Listen to changes',
  description:
    'Server-sent events. First `connected` with `{"clientId"}`; then for each change an event without a name, ' +
    '`{"action","table","record"}`: the whole record after a create or update, the primary key as texts after a ' +
    'delete. A record that changes so that the caller may no longer read it is delivered as deleted. `gap` says that ' +
    'events are missing, `close` with `{"reason","message","retryMs"}` why the stream ends and when to reconnect, if at ' +
    'all. A request that accepts `text/event-stream` and is refused for the moment only, as while a node stops, is ' +
    'answered by such a `close` alone; others by 503 or 429. Every event has an id: sent back as `Last-Event-ID` it ' +
    'resumes the stream after that event.',
  querystring: Type.Object({
    ...subscriptionParameters,
    tables: Type.Optional(
      Type.String({
        format: 'table-list',
        description: 'Tables to listen to, separated by commas. Required unless `oauth` is `true`.',
      }),
    ),
    lastEventId,
    token: Type.Optional(Type.String({ description: 'The access token, where headers cannot be set.' })),
    oauth: Type.Optional(
      Type.String({
        description:
          '`true`: without a token; waits for a sign-in with a provider in another window of this browser, whose ' +
          '`state` is the `clientId`, and ends with one event `oauth`.',
      }),
    ),
  }),
}

const adminStreamSchema = {
  ...described,
  summary: 'Listen to changes as an administrator',
  description:
    'As `GET /api/realtime`, without policies: every change of every row, with every column. It ends with the ' +
    'session of the administrator.',
  querystring: Type.Object({ ...subscriptionParameters, lastEventId }),
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
      config: { guard: 'admin', permission: 'owner', operation: 'realtime.adminStream', eventStream: true },
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
