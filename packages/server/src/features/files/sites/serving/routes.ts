import type { IncomingMessage } from 'node:http'
import type { HttpServer } from '../../../../http/server.ts'
import type { SiteAddress } from '../address.ts'
import { siteErrors } from '../errors.ts'
import { type ServeDeps, serveSite } from './serve.ts'
import type { SiteHosts } from './site-hosts.ts'

/**
 * Path to which requests for sites are routed, whatever path they request. On these hosts, API paths are ordinary file
 * paths.
 */
const servingPath = '/_sites'

/** Creates a rewriter that runs before routing and decides by the host alone. Site hosts never reach the API. */
export function siteRewriter(hosts: SiteHosts) {
  return ({ url = '/', headers }: Pick<IncomingMessage, 'url' | 'headers'>): string =>
    hosts.find(headers.host) === undefined ? url : servingPath
}

export function servingRoutes(
  app: HttpServer,
  deps: ServeDeps,
  hosts: SiteHosts,
  addressOf: SiteAddress,
): void {
  app.get(
    servingPath,
    { config: { guard: 'public', operation: 'sites.serve' }, schema: { hide: true } },
    async (request, reply) => {
      const target = hosts.find(request.headers.host)
      if (target === undefined) return reply.callNotFound()
      if (target.kind === 'inactive') throw siteErrors.hostnameInactive()
      if (target.kind === 'site') return await serveSite(deps, target.slug, request, reply)
      // `*` is not a path (RFC 9112 §3.2.4).
      const path = request.originalUrl.startsWith('/') ? request.originalUrl : '/'
      const location = `${addressOf(target.slug, target.hostname)}${path}`
      return reply.code(target.status).headers({ location, 'cache-control': 'no-cache' }).send()
    },
  )
}
