import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { sendPage } from '../../../http/responses/send-page.ts'
import { favicon, faviconSvg } from './favicon.ts'
import { type OverviewOperationDeps, overviewOperations } from './operations.ts'
import { createOverviewPage } from './page.ts'

export interface OverviewDeps extends OverviewOperationDeps {
  /** Path of the dashboard, if it has the same origin. */
  readonly dashboardPath: string | undefined
}

/**
 * Makes the feature of `/`, the page that describes the server and links to its parts, and of the server
 * state for administrators.
 */
export function overview({ dashboardPath, ...deps }: OverviewDeps): Feature {
  const { version, isAuthRequired } = deps
  const page = createOverviewPage({ version, isAuthRequired, dashboardPath })
  return {
    name: 'overview',
    routes(app) {
      addOperations(app, deps, overviewOperations(isAuthRequired))

      app.get(
        '/',
        { config: { guard: 'public', operation: 'overview.page' }, schema: { hide: true } },
        (request, reply) => {
          void reply.header('vary', [reply.getHeader('vary'), 'Accept'].filter(Boolean).join(', '))
          // For programs this address does not exist, like any other address outside the API.
          return wantsPage(request.headers.accept) ? sendPage(reply, page) : reply.callNotFound()
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

/** Returns whether the client wants a page. It does not if it names JSON and no HTML (RFC 9110 §12.5.1). */
function wantsPage(accept: string | undefined): boolean {
  if (accept === undefined) return true
  const types = accept.split(',').map((part) => part.split(';', 1)[0]?.trim().toLowerCase())
  return (
    types.includes('text/html') ||
    (types.some((type) => type === '*/*' || type === 'text/*') && !types.includes('application/json'))
  )
}
