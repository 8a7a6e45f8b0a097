import type { IncomingMessage } from 'node:http'
import type { HttpServer } from '../../../../http/server.ts'
import { type ServeDeps, serveSite } from './serve.ts'

/** Where requests for sites are routed, whatever path they ask for: the API's paths are files like any other there. */
export const servingPath = '/_sites'

/** Chosen before routing, by the host alone: nothing of the API answers on the host of a site. */
export function siteRewriter(slugOf: (host: string | undefined) => string | undefined) {
  return ({ url = '/', headers }: Pick<IncomingMessage, 'url' | 'headers'>): string =>
    slugOf(headers.host) === undefined ? url : servingPath
}

export function servingRoutes(
  app: HttpServer,
  deps: ServeDeps,
  slugOf: (host: string | undefined) => string | undefined,
): void {
  app.get(
    servingPath,
    { config: { guard: 'public', operation: 'sites.serve' }, schema: { hide: true } },
    async (request, reply) => {
      const slug = slugOf(request.headers.host)
      return slug === undefined ? reply.callNotFound() : await serveSite(deps, slug, request, reply)
    },
  )
}
