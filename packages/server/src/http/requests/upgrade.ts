import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { noteStream } from '../observation/request-observer.ts'

/** The connection of a request that asks for another protocol. */
export interface UpgradeOffer {
  readonly socket: Socket
  /** What has come after the request already. */
  readonly head: Buffer
  /** Ends HTTP on the connection: from now on it belongs to the caller. */
  take(reply: FastifyReply): void
}

const offers = new WeakMap<IncomingMessage, UpgradeOffer>()

/** Undefined for an ordinary request. */
export function upgradeOfferOf(request: FastifyRequest): UpgradeOffer | undefined {
  return offers.get(request.raw)
}

/**
 * Requests for WebSockets, on the routes that declare `upgrade` only: everywhere else a server may pass over the
 * header (RFC 9110 §7.8), and this one does. They go through hooks and handlers like any other request, so that a refusal
 * is an ordinary answer.
 */
export class Upgrades {
  readonly #paths = new Set<string>()

  /** For Node, before it takes a connection out of HTTP. */
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
      // Node no longer listens: what a client does to its connection must not end the process.
      socket.on('error', () => undefined)
      // Sent right behind another request whose answer is still to come.
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
          noteStream(reply.request, socket)
        },
      })
      app.routing(request, response)
    })
  }
}

/** Node keeps the response in flight there; its types do not list it. */
function isAnswering(socket: Socket & { readonly _httpMessage?: unknown }): boolean {
  return socket._httpMessage !== null && socket._httpMessage !== undefined
}
