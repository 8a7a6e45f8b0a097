import type { FastifyRequest } from 'fastify'
import { streamTokenOf } from '../../../../http/access/authentication.ts'
import type { Origins } from '../../../../http/access/origins.ts'
import { addressKey } from '../../../../http/requests/client-address.ts'
import { upgradeOfferOf } from '../../../../http/requests/upgrade.ts'
import { responses } from '../../../../http/schemas.ts'
import type { HttpServer } from '../../../../http/server.ts'
import { Type } from '../../../../lib/type.ts'
import { realtimeErrors } from '../errors.ts'
import type { Streams } from '../streams.ts'
import type { WebSocketHandshake } from './websocket-handshake.ts'
import type { Credentials } from './websocket-session.ts'
import type { WebSockets } from './websockets.ts'

export interface WebSocketRouteDeps {
  readonly streams: Streams
  readonly sockets: WebSockets
  readonly handshake: WebSocketHandshake
  readonly origins: Origins
}

const websocketSchema = {
  tags: ['realtime'],
  summary: 'Open a WebSocket',
  description:
    'Opens a WebSocket (RFC 6455) for changes of tables, broadcasts and presence. The token comes with the request or in a ' +
    'first message `auth` within 10 seconds. Tables that are open to requests without a token need none. Messages are JSON ' +
    'objects with a `type` and an optional `ref`, which the `reply` repeats. Clients send auth, subscribe, unsubscribe, ' +
    'channel_subscribe, channel_unsubscribe, broadcast, presence_track, presence_untrack and presence_sync. The server ' +
    'sends connected, reply, event, broadcast, presence, error and system. `event` has the `id` to resume from, as ' +
    '`last_event_id` of `subscribe`. The server closes with 4401 if the token is invalid or its session ends, and with ' +
    '4008 beyond the limits of `realtime`. It closes with 4000 after a disconnect by an administrator, 1013 if the client ' +
    'reads too slowly, and 1009 with the limit after a message that is far too long. It closes with 1001 if the server ' +
    'stops or the client has no subscription. There is no subprotocol. Offered subprotocols are ignored.',
  querystring: Type.Object({
    token: Type.Optional(Type.String({ description: 'Access token, for clients that cannot set headers.' })),
  }),
  response: responses({ 101: Type.Null({ description: 'The connection is a WebSocket.' }) }),
}

/** Adds the route of WebSockets for changes, broadcasts and presence. */
export function websocketRoute(
  app: HttpServer,
  { streams, sockets, handshake, origins }: WebSocketRouteDeps,
): void {
  app.get(
    '/api/realtime/ws',
    {
      // The token may also follow in a first message.
      config: { guard: 'public', operation: 'realtime.websocket', upgrade: true },
      schema: websocketSchema,
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      void reply.header('cache-control', 'no-store')
      const offer = upgradeOfferOf(request)
      if (offer === undefined)
        throw realtimeErrors.upgradeRequired().with({ headers: { upgrade: 'websocket' } })
      streams.requireOpen()
      if (!mayConnect(request, origins)) throw realtimeErrors.originNotAllowed()
      const address = addressKey(request)
      const socket = handshake.accept(request, reply, offer)
      if (socket !== undefined) sockets.open(socket, offer.socket, address, credentialsOf(request))
      return reply
    },
  )
}

/**
 * Checks the origin. Browsers let every page open a WebSocket anywhere, so the server has to check (RFC 6455 §10.2).
 */
export function mayConnect(request: FastifyRequest, origins: Origins): boolean {
  const { origin } = request.headers
  return origin === undefined || origins.mayCall(origin) || origins.isOwn(origin, request)
}

export function credentialsOf(request: FastifyRequest): Credentials {
  const token = streamTokenOf(request)
  if (token !== undefined) return { token }
  return request.headers.authorization === undefined ? 'nothing' : 'malformed'
}
