import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Feature } from '../../../feature.ts'
import { sendPage } from '../../../http/responses/send-page.ts'
import { favicon, faviconSvg } from './favicon.ts'
import { createOverviewPage } from './page.ts'
import { type ServerDeps, serverRoutes } from './server.ts'
import { listTables, tableListSchema } from './tables.ts'

export interface OverviewDeps extends ServerDeps {
  readonly catalog: LiveCatalog
  /** Path of the dashboard, where it has the same origin. */
  readonly dashboardPath: string | undefined
}

/** `/`, what a person sees first: what runs here, where to go, and the tables for callers who may see them. */
export function overview({ catalog, dashboardPath, ...server }: OverviewDeps): Feature {
  const { database, version, isAuthRequired } = server
  const page = createOverviewPage({ version, isAuthRequired, dashboardPath })
  return {
    name: 'overview',
    routes(app) {
      serverRoutes(app, server)

      app.get(
        '/',
        { config: { guard: 'public', operation: 'overview.page' }, schema: { hide: true } },
        (request, reply) => {
          void reply.header('vary', [reply.getHeader('vary'), 'Accept'].filter(Boolean).join(', '))
          // To programs this address is none, as any other that is not of the API.
          return wantsPage(request.headers.accept) ? sendPage(reply, page) : reply.callNotFound()
        },
      )

      app.get(
        '/api/admin/tables',
        {
          config: { guard: isAuthRequired ? 'admin' : 'data', operation: 'overview.tables' },
          schema: tableListSchema,
        },
        async (request, reply) => {
          await catalog.refresh()
          return reply.send(await listTables(database, catalog.current, request.query))
        },
      )

      const icons = {
        '/favicon.svg': ['image/svg+xml', faviconSvg],
        '/favicon.ico': ['image/x-icon', favicon],
      } as const
      for (const [path, [type, content]] of Object.entries(icons)) {
        app.get(
          path,
          { config: { guard: 'public', operation: 'overview.icon' }, schema: { hide: true } },
          (_request, reply) =>
            reply.header('cache-control', 'public, max-age=86400').type(type).send(content),
        )
      }
    },
  }
}

/** Whether a page is what the client asks for: not when it names JSON and no HTML (RFC 9110 §12.5.1). */
function wantsPage(accept: string | undefined): boolean {
  if (accept === undefined) return true
  const types = accept.split(',').map((part) => part.split(';', 1)[0]?.trim().toLowerCase())
  return (
    types.includes('text/html') ||
    (types.some((type) => type === '*/*' || type === 'text/*') && !types.includes('application/json'))
  )
}
