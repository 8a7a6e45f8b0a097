import { randomUUID } from 'node:crypto'
import type { FastifyInstance, RawRequestDefaultExpression } from 'fastify'

/** The id of the request: the client's own when it looks like one, so that logs of both sides meet. */
export function requestId(request: RawRequestDefaultExpression): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[\w.:-]{8,128}$/.test(given) ? given : randomUUID()
}

/** Headers that every response carries; pages replace the content policy by their own. */
export function addResponseHeaders(app: FastifyInstance, options: { readonly isHttps: boolean }): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    reply.header('x-frame-options', 'DENY')
    reply.header('referrer-policy', 'no-referrer')
    reply.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
    if (options.isHttps) reply.header('strict-transport-security', 'max-age=31536000; includeSubDomains')
    done()
  })
}
