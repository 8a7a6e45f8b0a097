import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Tells the browser that the page may read the response; answers whether the origin is allowed. */
export type AllowOrigin = (request: FastifyRequest, reply: FastifyReply) => boolean

/**
 * Cross-origin requests of browsers (Fetch Standard, CORS protocol). Written here because it is short without
 * credentials, which we never allow: tokens travel in headers, not in cookies. A request without `Origin`, which
 * is every request that does not come from a browser page, costs nothing.
 */
export function createOriginPolicy(origins: readonly string[]): AllowOrigin {
  const isOpen = origins.includes('*')
  // As browsers write them: in lower case, without the scheme's own port.
  const allowed = new Set(isOpen ? [] : origins.map((origin) => new URL(origin).origin))
  return (request, reply) => {
    const { origin } = request.headers
    // What a cache keeps for one origin must not be given to another.
    if (!isOpen) reply.header('vary', 'Origin')
    if (origin === undefined || !(isOpen || allowed.has(origin))) return false
    reply.header('access-control-allow-origin', isOpen ? '*' : origin)
    if (request.method !== 'OPTIONS') reply.header('access-control-expose-headers', exposedHeaders)
    return true
  }
}

/** Answers preflight requests before any guard: they carry no token. */
export function addCors(app: FastifyInstance, allowOrigin: AllowOrigin): void {
  app.addHook('onRequest', (request, reply, done) => {
    const isPreflight =
      request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
    if (allowOrigin(request, reply) && isPreflight) {
      void reply.code(204).headers(preflightHeaders).send()
      return
    }
    done()
  })
}

const exposedHeaders = 'X-Request-Id, Retry-After'

const preflightHeaders = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': 'Content-Type, Authorization, X-Request-Id, Last-Event-ID',
  'access-control-max-age': '86400',
}
