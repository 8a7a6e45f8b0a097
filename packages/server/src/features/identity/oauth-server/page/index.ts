import { acceptForms } from '../../../../http/body.ts'
import type { HttpServer } from '../../../../http/server.ts'
import { requireEnabled } from '../context.ts'
import type { PageContext } from './context.ts'
import { Exchange } from './exchange.ts'

const path = '/oauth/authorize'

/**
 * The authorization endpoint for people (RFC 6749 §3.1): signs a person in, asks for consent, leads back to the client. It
 * keeps no session: the session ends with the answer. All of it are forms, which work without a script; only passkeys
 * need one.
 */
export function authorizePage(app: HttpServer, context: PageContext): void {
  void app.register(async (scope: HttpServer) => {
    acceptForms(scope)
    scope.get(
      path,
      { config: { guard: 'public', operation: 'oauth.page' }, schema: { hide: true } },
      async (request, reply) => {
        void reply.header('cache-control', 'no-store')
        requireEnabled(context.oauth)
        const [, query = ''] = request.raw.url?.split(/\?(.*)/s) ?? []
        const exchange = new Exchange(context, request, reply)
        const asked = await exchange.check(query)
        if (asked === undefined) return reply
        exchange.cookie.begin(reply)
        return await exchange.showSignIn(asked)
      },
    )
    scope.post<{ Body: URLSearchParams | undefined }>(
      path,
      { config: { guard: 'public', operation: 'oauth.pageStep' }, schema: { hide: true } },
      async (request, reply) => {
        void reply.header('cache-control', 'no-store')
        requireEnabled(context.oauth)
        const form = request.body ?? new URLSearchParams()
        const exchange = new Exchange(context, request, reply)
        const asked = await exchange.check(form.get('request') ?? '')
        return asked === undefined ? reply : await exchange.take(asked, form)
      },
    )
  })
}
