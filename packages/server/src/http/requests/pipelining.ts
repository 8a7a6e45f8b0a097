import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { LinkedQueue } from '../../lib/linked-queue.ts'

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Node reads this member where it resumes a connection; its types do not list it. */
type PausableSocket = Socket & { _paused?: boolean }

/**
 * Serves the requests of one connection one after the other. RFC 9112 §9.3.2 lets clients send requests without waiting for
 * answers, and only safe ones may be processed together. Node begins all of them at once: 2,000 on one connection would
 * take every connection to the database. While requests wait, the connection is not read.
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
      // After an answer that ends the connection nothing more is processed (RFC 9112 §9.6).
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
    // Node reads on when the client has taken a part of an answer.
    socket.on('drain', () => {
      if ((waiting.get(socket)?.length ?? 0) > 0) pause(socket)
    })
  })
}

/** Stops reading, also where Node would read on for the end of a body. */
function pause(socket: PausableSocket): void {
  socket._paused = true
  socket.pause()
}

/** Has Node read on, unless the client does not take its answers. */
function resume(socket: PausableSocket): void {
  if (socket._paused === true) socket.emit('drain')
}
