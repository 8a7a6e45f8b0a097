import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { noteStream } from '../observation/request-observer.ts'

/** Connection of a request for another protocol. */
export interface UpgradeOffer {
  readonly socket: Socket
  /** Bytes that have already arrived after the request. */
  readonly head: Buffer
  /** Ends HTTP on the connection, which from now on belongs to the caller. */
  take(reply: FastifyReply): void
}

const offers = new WeakMap<IncomingMessage, UpgradeOffer>()

/** Returns the offer of a request; undefined for an ordinary request. */
export function upgradeOfferOf(request: FastifyRequest): UpgradeOffer | undefined {
  return offers.get(request.raw)
}

/**
 * Requests for WebSockets, on the routes that declare `upgrade` only. Elsewhere the header is ignored, as RFC
 * 9110 §7.8 allows. They pass through hooks and handlers like any other request, so that a rejection is an
 * ordinary response.
 */
export class Upgrades {
  readonly #paths = new Set<string>()

  /** Decides for Node whether a connection leaves HTTP. */
  accepts(request: IncomingMessage): boolean {
    const [path = ''] = (request.url ?? '').split('?', 1)
    const protocol = request.headers.upgrade?.toLowerCase()
    return request.method === 'GET' && protocol === 'websocket' && this.#paths.has(path)
  }

  route(app: FastifyInstance): void {
    app.addHook('onRoute', ({ url, config }) => {
      if (config?.upgrade === true) this.#paths.add(url)
    })
    app.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      // Node no longer listens. A client error on its connection must not end the process.
      socket.on('error', () => undefined)
      // The request was pipelined after another one whose response is still pending.
      if (isAnswering(socket)) {
        socket.destroy()
        return
      }
      const response = new ServerResponse(request)
      response.setHeader('connection', 'close')
      response.assignSocket(socket)
      response.once('finish', () => socket.destroySoon())
      offers.set(request, {
        socket,
        head,
        take(reply) {
          reply.hijack()
          response.detachSocket(socket)
          noteStream(reply, socket)
        },
      })
      app.routing(request, response)
    })
  }
}

/** Returns true if a response is in flight. Node keeps it in this member, which its types do not list. */
function isAnswering(socket: Socket & { readonly _httpMessage?: unknown }): boolean {
  return socket._httpMessage !== null && socket._httpMessage !== undefined
}
