import { randomUUID } from 'node:crypto'
import type { FastifyInstance, RawRequestDefaultExpression } from 'fastify'

/** The id of the request: the client's own when it looks like one, so that logs of both sides meet. */
export function requestId(request: RawRequestDefaultExpression): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[\w.:-]{8,128}$/.test(given) ? given : randomUUID()
}

/** Headers that every response carries; pages replace the content policy by their own. */
export function addResponseHeaders(app: FastifyInstance, options: { readonly isHttps: boolean }): void {
  const fixed: Record<string, string> = {
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    ...(options.isHttps ? { 'strict-transport-security': 'max-age=31536000; includeSubDomains' } : {}),
  }
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id).headers(fixed)
    done()
  })
}
