import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptForms } from '../../../../http/requests/body.ts'
import type { HttpServer } from '../../../../http/server.ts'
import type { ReturnToPage } from '../../social-login/index.ts'
import { requireEnabled } from '../context.ts'
import type { PageContext } from './context.ts'
import { Exchange } from './exchange.ts'

const path = '/oauth/authorize'

/**
 * Adds the authorization endpoint for people (RFC 6749 §3.1): signs a person in, asks for consent, leads back to the client. It
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
        const exchange = new Exchange(context, request, reply)
        const asked = await exchange.check(queryOf(request))
        if (asked === undefined) return reply
        exchange.cookie.begin(reply)
        return await exchange.showSignIn(asked)
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
        const asked = await exchange.check(queryOf(request))
        return asked === undefined ? reply : await exchange.leadToProvider(asked, request.params.provider)
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

/** Resumes the page when a person returns from a sign-in provider. */
export async function resumeAuthorization(
  context: PageContext,
  { query, outcome, request, reply }: ReturnToPage,
): Promise<FastifyReply> {
  requireEnabled(context.oauth)
  const exchange = new Exchange(context, request, reply)
  const asked = await exchange.check(query)
  return asked === undefined ? reply : await exchange.resume(asked, outcome)
}

/** Returns the query as it came: it may hold bytes that are no text. */
function queryOf({ raw }: FastifyRequest): string {
  const [, query = ''] = raw.url?.split(/\?(.*)/s) ?? []
  return query
}
