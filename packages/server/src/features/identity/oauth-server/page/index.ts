import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptForms } from '../../../../http/requests/body.ts'
import type { HttpServer } from '../../../../http/server.ts'
import type { ReturnToPage } from '../../social-login/index.ts'
import { requireEnabled } from '../context.ts'
import type { PageContext } from './context.ts'
import { Exchange } from './exchange.ts'

const path = '/oauth/authorize'

/**
 * Adds the authorization endpoint for browsers (RFC 6749 §3.1). It signs a user in, requests consent, and
 * redirects to the client. It keeps no session: the session ends with the response. The page consists of
 * forms, which work without a script. Only passkeys need one.
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
        const exchange = new Exchange(context, request, reply)
        const page = await exchange.check(queryOf(request))
        if (page === undefined) return reply
        exchange.cookie.begin(reply)
        return await exchange.showSignIn(page)
      },
    )
    scope.get<{ Params: { provider: string } }>(
      `${path}/:provider`,
      {
        config: { guard: 'public', operation: 'oauth.pageProvider' },
        schema: { hide: true },
        exposeHeadRoute: false,
      },
      async (request, reply) => {
        void reply.header('cache-control', 'no-store')
        requireEnabled(context.oauth)
        const exchange = new Exchange(context, request, reply)
        const page = await exchange.check(queryOf(request))
        return page === undefined ? reply : await exchange.redirectToProvider(page, request.params.provider)
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
        const page = await exchange.check(form.get('request') ?? '')
        return page === undefined ? reply : await exchange.submit(page, form)
      },
    )
  })
}

/** Resumes the page when a user returns from a sign-in provider. */
export async function resumeAuthorization(
  context: PageContext,
  { query, outcome, request, reply }: ReturnToPage,
): Promise<FastifyReply> {
  requireEnabled(context.oauth)
  const exchange = new Exchange(context, request, reply)
  const page = await exchange.check(query)
  return page === undefined ? reply : await exchange.resume(page, outcome)
}

/** Returns the raw query, since its bytes may not be text. */
function queryOf({ raw }: FastifyRequest): string {
  const [, query = ''] = raw.url?.split(/\?(.*)/s) ?? []
  return query
}
