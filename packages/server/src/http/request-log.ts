import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'

/** One line per request. Never the query string or a header: both can carry secrets. */
export function addRequestLog(app: FastifyInstance, log: Logger, which: 'none' | 'failed' | 'all'): void {
  if (which === 'none') return
  app.addHook('onResponse', (request, reply, done) => {
    if (which === 'all' || reply.statusCode >= 500) {
      log.info(
        {
          requestId: request.id,
          method: request.method,
          path: request.url.split('?', 1)[0],
          operation: request.routeOptions.config.operation,
          status: reply.statusCode,
          durationMs: Math.round(reply.elapsedTime * 10) / 10,
          address: request.ip,
        },
        'request',
      )
    }
    done()
  })
}
