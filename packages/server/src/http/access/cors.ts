import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Origins } from './origins.ts'

/** Lets the page read the response; answers whether the origin is allowed. */
export type AllowOrigin = (request: FastifyRequest, reply: FastifyReply) => boolean

/**
 * Cross-origin requests of browsers (Fetch Standard, CORS protocol). Written here because it is short without
 * credentials, which we never allow: tokens travel in headers, and cookies are for our own pages. A request without `Origin`, which
 * is every request that does not come from a browser page, costs nothing.
 */
export function createOriginPolicy(origins: Origins): AllowOrigin {
  return (request, reply) => {
    // The page for people is opened, never read (RFC 9700 §2.6).
    if (isOf(request, authorizationPath)) return false
    const { origin } = request.headers
    const isAdministrative = isOfAdministration(request)
    const isOpen = origins.isOpen && !isAdministrative
    // What a cache keeps for one origin must not be given to another.
    if (!isOpen) reply.header('vary', 'Origin')
    if (origin === undefined) return false
    if (!(isAdministrative ? origins.mayAdminister(origin) : origins.mayCall(origin))) return false
    reply.header('access-control-allow-origin', isOpen ? '*' : origin)
    if (request.method !== 'OPTIONS') reply.header('access-control-expose-headers', exposedHeaders)
    return true
  }
}

/** A preflight request has no route: its path decides. */
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

/** What is read from answers about files, and of tus 1.0. */
const exposedHeaders = [
  'X-Request-Id, Retry-After, WWW-Authenticate, ETag, Accept-Ranges, Content-Range, Content-Disposition, Idempotency-Replayed, X-Query-Duration-Ms',
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset',
  'X-App-RateLimit-Limit, X-App-RateLimit-Remaining, X-App-RateLimit-Reset',
  'Location, Upload-Offset, Upload-Length, Upload-Metadata, Upload-Expires',
  'Tus-Resumable, Tus-Version, Tus-Extension, Tus-Max-Size',
].join(', ')

const preflightHeaders = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': [
    'Content-Type, Authorization, X-Request-Id, Last-Event-ID, X-Notify-Table, X-Notify-Action',
    'Prefer, Range, If-Range, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, Idempotency-Key',
    'Tus-Resumable, Upload-Length, Upload-Offset, Upload-Metadata, X-HTTP-Method-Override',
  ].join(', '),
  'access-control-max-age': '86400',
}
