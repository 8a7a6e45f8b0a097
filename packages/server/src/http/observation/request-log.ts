import type { Logger } from 'pino'
import type { LoggingConfig } from '../../config/logging.ts'
import type { AnsweredRequest, RequestObserver } from './request-observer.ts'

/**
 * Creates the observer that writes one line per request. It never contains the query string or a header, because
 * both can carry secrets.
 */
export function logRequests(
  log: Logger,
  { requests, format }: Pick<LoggingConfig, 'requests' | 'format'>,
): RequestObserver {
  if (requests === 'none') return {}
  return {
    onAnswer(request) {
      if (requests !== 'all' && request.status < 500) return
      if (format === 'pretty') log.info(describeRequest(request))
      else log.info(requestFields(request), 'request')
    },
  }
}

function requestFields(request: AnsweredRequest): object {
  const { requestId, method, path, operation, status, durationMs, address, caller, userId } = request
  return {
    requestId,
    method,
    path,
    operation,
    status,
    durationMs: Math.round(durationMs * 10) / 10,
    address,
    caller,
    userId,
    impersonatedBy: request.impersonator,
  }
}

/** Maximum path length on a terminal. A longer filter or encoded key would hide the rest of the line. */
const shownPathLength = 100

/** Formats the line for people: `GET /api/collections/track 200 3 ms user 1f0c93ab`. */
function describeRequest(request: AnsweredRequest): string {
  const { method, path, status, durationMs, caller, impersonator } = request
  const shown = path.length > shownPathLength ? `${path.slice(0, shownPathLength)}…` : path
  const user = request.userId?.slice(0, 8)
  const actor = impersonator === undefined ? '' : `${impersonator} as `
  return [
    method,
    shown,
    status,
    `${Math.round(durationMs)} ms`,
    user === undefined ? caller : `${actor}user ${user}`,
  ].join(' ')
}
