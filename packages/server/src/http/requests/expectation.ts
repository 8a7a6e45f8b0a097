import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'

/** Requests whose client waits for 100 Continue before it sends the body (RFC 9110 §10.1.1). */
const waiting = new WeakSet<IncomingMessage>()

/** Returns true if nothing has read the body yet, so that the client still waits for 100 Continue. */
export function isBodyAwaited(request: IncomingMessage): boolean {
  return waiting.has(request)
}

/**
 * Sends 100 Continue when something reads the body. At that point the guard has judged the token and the route
 * the size. A request that is rejected before gets its response at once. The connection is then closed, because
 * the announced body never comes.
 */
export function addExpectation(app: FastifyInstance): void {
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.add(request)
    const read = request._read
    request._read = (size) => {
      // Node reads the rest of a body when the response has been sent.
      if (waiting.delete(request) && !response.headersSent) response.writeContinue()
      read.call(request, size)
    }
    app.server.emit('request', request, response)
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    if (waiting.has(request.raw)) reply.header('connection', 'close')
    done(null, payload)
  })
}
