import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { LinkedQueue } from '../../lib/linked-queue.ts'

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Socket with the member that Node reads when it resumes a connection; its types do not list it. */
type PausableSocket = Socket & { _paused?: boolean }

/**
 * Serves the requests of one connection in order. RFC 9112 §9.3.2 lets clients pipeline requests, and allows
 * only safe ones to be processed together. Node starts all of them at once: 2,000 on one connection would take
 * every connection to the database. While requests wait, the connection is not read.
 */
export function answerInOrder(app: FastifyInstance): void {
  /** Requests that wait for the one in flight; present while there is one. */
  const waiting = new WeakMap<Socket, LinkedQueue<Exchange>>()

  function serve(
    { request, response }: Exchange,
    socket: PausableSocket,
    queue: LinkedQueue<Exchange>,
  ): void {
    response.once('close', () => {
      const next = queue.shift()
      // After a response that ends the connection nothing more is processed (RFC 9112 §9.6).
      if (next === undefined || socket.destroyed || !socket.writable) {
        waiting.delete(socket)
        return
      }
      if (queue.length === 0) resume(socket)
      serve(next, socket, queue)
    })
    app.routing(request, response)
  }

  app.server.removeAllListeners('request')
  app.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const queue = waiting.get(socket)
    if (queue !== undefined) {
      queue.push({ request, response })
      pause(socket)
      return
    }
    const fresh = new LinkedQueue<Exchange>()
    waiting.set(socket, fresh)
    serve({ request, response }, socket, fresh)
  })
  app.server.on('connection', (socket: Socket) => {
    // Node resumes reading when the client has read a part of a response.
    socket.on('drain', () => {
      if ((waiting.get(socket)?.length ?? 0) > 0) pause(socket)
    })
  })
}

/** Stops reading, even where Node would read on for the end of a body. */
function pause(socket: PausableSocket): void {
  socket._paused = true
  socket.pause()
}

/** Lets Node resume reading, unless the client does not read its responses. */
function resume(socket: PausableSocket): void {
  if (socket._paused === true) socket.emit('drain')
}
