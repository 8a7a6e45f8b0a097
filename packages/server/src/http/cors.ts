import type { FastifyInstance } from 'fastify'

/**
 * Cross-origin requests of browsers (Fetch Standard, CORS protocol). Written here because it is short without
 * credentials, which we never allow: tokens travel in headers, not in cookies. A request without `Origin`, which
 * is every request that does not come from a browser page, costs nothing.
 */
export function addCors(app: FastifyInstance, origins: readonly string[]): void {
  const isOpen = origins.includes('*')
  const allowed = new Set(origins)
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    // What a cache keeps for one origin must not be given to another.
    if (!isOpen) reply.header('vary', 'Origin')
    if (origin === undefined || !(isOpen || allowed.has(origin))) {
      done()
      return
    }
    reply.header('access-control-allow-origin', isOpen ? '*' : origin)
    if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined) {
      void reply.code(204).headers(preflightHeaders).send()
      return
    }
    reply.header('access-control-expose-headers', 'X-Request-Id, Retry-After')
    done()
  })
}

const preflightHeaders = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': 'Content-Type, Authorization, X-Request-Id, Last-Event-ID',
  'access-control-max-age': '86400',
}
