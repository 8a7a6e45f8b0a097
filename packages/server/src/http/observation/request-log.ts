import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { LoggingConfig } from '../../config/logging.ts'
import { pathOf } from './request-observer.ts'

/**
 * Writes one line per request. It never contains the query string or a header, because both can carry secrets.
 */
export function addRequestLog(
  app: FastifyInstance,
  log: Logger,
  { requests, format }: Pick<LoggingConfig, 'requests' | 'format'>,
): void {
  if (requests === 'none') return
  app.addHook('onResponse', (request, reply, done) => {
    if (requests === 'all' || reply.statusCode >= 500) {
      if (format === 'pretty') log.info(describeRequest(request, reply))
      else log.info(requestFields(request, reply), 'request')
    }
    done()
  })
}

function requestFields(request: FastifyRequest, reply: FastifyReply): object {
  return {
    requestId: request.id,
    method: request.method,
    path: pathOf(request),
    operation: request.routeOptions.config.operation,
    status: reply.statusCode,
    durationMs: Math.round(reply.elapsedTime * 10) / 10,
    address: request.ip,
    caller: callerOf(request),
    userId: userIdOf(request),
    impersonatedBy: impersonatorOf(request),
  }
}

/** Maximum path length on a terminal. A longer filter or encoded key would hide the rest of the line. */
const shownPathLength = 100

/** Formats the line for people: `GET /api/collections/track 200 3 ms user 1f0c93ab`. */
function describeRequest(request: FastifyRequest, reply: FastifyReply): string {
  const path = pathOf(request)
  const shown = path.length > shownPathLength ? `${path.slice(0, shownPathLength)}…` : path
  const user = userIdOf(request)?.slice(0, 8)
  return [
    request.method,
    shown,
    reply.statusCode,
    `${Math.round(reply.elapsedTime)} ms`,
    user === undefined ? callerOf(request) : `${describeImpersonator(request)}user ${user}`,
  ].join(' ')
}

function callerOf({ identity, pending }: FastifyRequest): 'user' | 'admin' | 'anonymous' {
  if (identity?.kind === 'admin') return 'admin'
  return identity?.kind === 'user' || pending !== undefined ? 'user' : 'anonymous'
}

function userIdOf({ identity, pending }: FastifyRequest): string | undefined {
  return identity?.kind === 'user' ? identity.userId : pending?.userId
}

function impersonatorOf({ identity }: FastifyRequest): string | undefined {
  return identity?.kind === 'user' ? identity.impersonator : undefined
}

function describeImpersonator(request: FastifyRequest): string {
  const impersonator = impersonatorOf(request)
  return impersonator === undefined ? '' : `${impersonator} as `
}
