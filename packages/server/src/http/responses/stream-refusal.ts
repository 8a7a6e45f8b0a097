import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AppError } from '../../lib/errors.ts'
import { formatClose, reconnectAfter } from './sse.ts'

/**
 * Longest delay before a stream reconnects by itself. A longer one is shown to a person. A page must not seem
 * to connect for minutes.
 */
const longestWaitSeconds = 60
/** Delay after a failure that names none. */
const usualWaitSeconds = 3

/**
 * Responds to a request for a temporarily unavailable event stream. The response is a stream that ends at once
 * and says when to reconnect. A browser's `EventSource` never reconnects after any status but 200 (HTML
 * Standard §9.2.3). A restart, a full pool or a limit on connections would end it for good. Permanent errors
 * keep their status: the request is wrong (400), or the token is missing, has expired or lacks permission (401,
 * 403).
 *
 * @returns true if the response was sent
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

/**
 * Returns true if the request names the type itself, as an `EventSource` does. A client that accepts anything
 * reads the status.
 */
function acceptsEvents({ headers }: FastifyRequest): boolean {
  return headers.accept?.toLowerCase().includes('text/event-stream') === true
}
