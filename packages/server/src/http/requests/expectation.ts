import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'

/** Requests whose client waits to be asked for the body (RFC 9110 §10.1.1). */
const waiting = new WeakSet<IncomingMessage>()

/** Whether nothing of the body has been asked for: it has not begun to come, unless the client does not wait. */
export function isBodyAwaited(request: IncomingMessage): boolean {
  return waiting.has(request)
}

/**
 * Asks a client that sends `Expect: 100-continue` for the body when something reads it: after the guard has judged the
 * token and the route the size. What is refused before is answered at once, and the connection closed, as the body that was
 * announced never comes.
 */
export function addExpectation(app: FastifyInstance): void {
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.add(request)
    const read = request._read
    request._read = (size) => {
      // Node reads what is left of a body when the answer has been sent.
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
