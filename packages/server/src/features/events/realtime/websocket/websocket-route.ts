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
import type { Offered } from './websocket-session.ts'
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
    'Changes of tables, broadcasts and presence (RFC 6455). The token comes with the request or in a first message ' +
    '`auth` within 10 seconds; tables that are open to requests without a token need none. Messages are JSON objects with a `type`, and a `ref` that is repeated in the `reply`. ' +
    'Clients send auth, subscribe, unsubscribe, channel_subscribe, channel_unsubscribe, broadcast, presence_track, ' +
    'presence_untrack and presence_sync; they are sent connected, reply, event, broadcast, presence, error and ' +
    'system. `event` carries the `id` to resume with as `last_event_id` of `subscribe`. Closed with 4401 when the ' +
    'token is not good or its session ends, 4008 beyond the limits of `realtime`, 4000 by an ' +
    'administrator, 1013 when the client reads too slowly, 1009 with the limit after a message that is far too long, ' +
    '1001 when the server stops or nothing is subscribed to. There is no subprotocol: those that are offered are passed over.',
  querystring: Type.Object({
    token: Type.Optional(Type.String({ description: 'The access token, where headers cannot be set.' })),
  }),
  response: responses({ 101: Type.Null({ description: 'The connection is a WebSocket.' }) }),
}

/** Changes, broadcasts and presence over a WebSocket. */
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
      if (socket !== undefined) sockets.open(socket, offer.socket, address, offeredBy(request))
      return reply
    },
  )
}

/** Browsers let every page open a WebSocket anywhere, so the server has to look (RFC 6455 §10.2). */
function mayConnect(request: FastifyRequest, origins: Origins): boolean {
  const { origin } = request.headers
  return origin === undefined || origins.mayCall(origin) || origins.isOwn(origin, request)
}

function offeredBy(request: FastifyRequest): Offered {
  const token = streamTokenOf(request)
  if (token !== undefined) return { token }
  return request.headers.authorization === undefined ? 'nothing' : 'malformed'
}
