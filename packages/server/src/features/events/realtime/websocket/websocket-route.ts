import type { FastifyRequest } from 'fastify'
import { streamTokenOf } from '../../../../http/access/authentication.ts'
import type { Origins } from '../../../../http/access/origins.ts'
import { addressKey } from '../../../../http/requests/client-address.ts'
import { upgradeOfferOf } from '../../../../http/requests/upgrade.ts'
import type { HttpServer } from '../../../../http/server.ts'
import { realtimeErrors } from '../errors.ts'
import { websocketSchema } from '../schemas.ts'
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
