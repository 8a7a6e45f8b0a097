import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AppError } from '../../lib/errors.ts'
import { formatClose, reconnectAfter } from './sse.ts'

/** A longer wait is an answer for a person, who should not watch a page that seems to connect. */
const longestWaitSeconds = 60
/** Wait after a failure that names none. */
const usualWaitSeconds = 3

/**
 * Answers a request for an event stream that cannot be served for the moment with a stream that ends at once, and says
 * when to reconnect. A browser's `EventSource` never reconnects after any status but 200 (HTML Standard §9.2.3), so that
 * a restart, a full pool or a limit on connections would end it for good. What no other attempt changes keeps its
 * status: the request is wrong (400), the token is missing, has ended or may not (401, 403).
 *
 * @returns whether the request was answered
 */
export function refuseForNow(request: FastifyRequest, reply: FastifyReply, error: AppError): boolean {
  if (request.routeOptions.config.eventStream !== true || !acceptsEvents(request)) return false
  if (error.status < 500 && error.status !== 429) return false
  const seconds = Number(error.extras.headers?.['retry-after'] ?? usualWaitSeconds)
  if (seconds > longestWaitSeconds) return false
  void reply
    .code(200)
    .headers(error.extras.headers ?? {})
    .header('content-type', 'text/event-stream; charset=utf-8')
    .header('cache-control', 'no-store, no-transform')
    .send(formatClose({ reason: error.kind, message: error.message, retryMs: reconnectAfter(seconds) }))
  return true
}

/** An `EventSource` names the type alone; a client that accepts anything reads the status. */
function acceptsEvents({ headers }: FastifyRequest): boolean {
  return headers.accept?.toLowerCase().includes('text/event-stream') === true
}
