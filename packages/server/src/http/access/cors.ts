import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Origins } from './origins.ts'

/** Function that lets the page read the response. It returns whether the origin is allowed. */
export type AllowOrigin = (request: FastifyRequest, reply: FastifyReply) => boolean

/**
 * Returns the policy for cross-origin requests of browsers (Fetch Standard, CORS protocol). It is written here
 * because it is short without credentials. We never allow those: tokens travel in headers, and cookies are for
 * our own pages. A request without `Origin`, as every program sends, costs nothing.
 */
export function createOriginPolicy(origins: Origins): AllowOrigin {
  return (request, reply) => {
    // A browser navigates to the authorization page and no script reads it (RFC 9700 §2.6).
    if (isOf(request, authorizationPath)) return false
    const { origin } = request.headers
    const isAdministrative = isOfAdministration(request)
    const isOpen = origins.isOpen && !isAdministrative
    // A cache must not serve to one origin what it stored for another.
    if (!isOpen) reply.header('vary', 'Origin')
    if (origin === undefined) return false
    if (!(isAdministrative ? origins.mayAdminister(origin) : origins.mayCall(origin))) return false
    reply.header('access-control-allow-origin', isOpen ? '*' : origin)
    if (request.method !== 'OPTIONS') reply.header('access-control-expose-headers', exposedHeaders)
    return true
  }
}

/**
 * Returns true if the request is for the administration API. A preflight request has no route, so its path
 * decides.
 */
function isOfAdministration(request: FastifyRequest): boolean {
  if (!request.is404 && request.routeOptions.config.guard === 'admin') return true
  return isOf(request, administrationPath)
}

function isOf({ is404, routeOptions, url }: FastifyRequest, area: RegExp): boolean {
  const [path = ''] = url.split('?', 1)
  return area.test(is404 ? decodePath(path) : (routeOptions.url ?? path))
}

const authorizationPath = /^\/oauth(\/|$)/
const administrationPath = /^\/(api\/(admin|webhooks)|admin)(\/|$)/

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** Responds to preflight requests before any guard, because they carry no token. */
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

/** Response headers that pages may read, including those of files and of tus 1.0. */
const exposedHeaders = [
  'X-Request-Id, Retry-After, WWW-Authenticate, ETag, Accept-Ranges, Content-Range, Content-Disposition, Idempotency-Replayed, X-Query-Duration-Ms, X-Basalt-Position',
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset',
  'X-App-RateLimit-Limit, X-App-RateLimit-Remaining, X-App-RateLimit-Reset',
  'Location, Upload-Offset, Upload-Length, Upload-Metadata, Upload-Expires',
  'Tus-Resumable, Tus-Version, Tus-Extension, Tus-Max-Size',
].join(', ')

const preflightHeaders = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': [
    'Content-Type, Authorization, X-Request-Id, Last-Event-ID, X-Notify-Table, X-Notify-Action',
    'Prefer, Range, If-Range, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, Idempotency-Key, X-Basalt-Position, X-Read-Consistency, X-Captcha-Response',
    'Tus-Resumable, Upload-Length, Upload-Offset, Upload-Metadata, X-HTTP-Method-Override',
  ].join(', '),
  'access-control-max-age': '86400',
}
