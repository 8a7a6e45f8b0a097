import { userOf } from '../../../http/access/authentication.ts'
import { acceptForms } from '../../../http/requests/body.ts'
import type { HttpServer } from '../../../http/server.ts'
import { AppError } from '../../../lib/errors.ts'
import { clientOf } from '../accounts/index.ts'
import { finish } from './callback.ts'
import type { SocialLoginContext } from './context.ts'
import { socialLoginErrors } from './errors.ts'
import { linkByAccessToken, unlink } from './link.ts'
import { type IdentityRow, listIdentities } from './queries.ts'
import {
  beginLinkSchema,
  callbackSchema,
  formCallbackSchema,
  identitiesSchema,
  linkSchema,
  startSchema,
  unlinkSchema,
} from './schemas.ts'
import { beginLink, start } from './start.ts'

/** Signing in with providers, and the identities of an account. */
export function socialLoginRoutes(app: HttpServer, context: SocialLoginContext): void {
  app.addHook('onSend', async (_request, reply) => {
    void reply.header('cache-control', 'no-store')
  })
  app.get(
    '/api/auth/oauth/:provider',
    {
      config: { guard: 'public', operation: 'socialLogin.start' },
      schema: startSchema,
      exposeHeadRoute: false,
    },
    (request, reply) => start(context, request.params.provider, request.query, request, reply),
  )
  const callback = '/api/auth/oauth/:provider/callback'
  app.get<{ Params: { provider: string } }>(
    callback,
    {
      config: { guard: 'public', operation: 'socialLogin.finish' },
      schema: callbackSchema,
      exposeHeadRoute: false,
    },
    (request, reply) => {
      const parameters = new URL(request.url, 'http://localhost').searchParams
      return finish(context, request.params.provider, parameters, request, reply)
    },
  )
  void app.register(async (forms) => {
    acceptForms(forms)
    forms.setErrorHandler((error) => {
      throw error instanceof AppError && error.status === 415 ? socialLoginErrors.invalidFormData() : error
    })
    forms.post<{ Params: { provider: string }; Body: URLSearchParams | undefined }>(
      callback,
      { config: { guard: 'public', operation: 'socialLogin.finishForm' }, schema: formCallbackSchema },
      (request, reply) =>
        finish(context, request.params.provider, request.body ?? new URLSearchParams(), request, reply),
    )
  })

  app.post(
    '/api/auth/link/oauth',
    { config: { guard: 'bearer', operation: 'socialLogin.link' }, schema: linkSchema },
    async (request, reply) =>
      reply.send(await linkByAccessToken(context, userOf(request), request.body, clientOf(request))),
  )
  app.post(
    '/api/auth/link/oauth/begin',
    { config: { guard: 'bearer', operation: 'socialLogin.beginLink' }, schema: beginLinkSchema },
    async (request, reply) => reply.send({ url: await beginLink(context, userOf(request), request.body) }),
  )
  app.delete(
    '/api/auth/link/oauth',
    { config: { guard: 'bearer', operation: 'socialLogin.unlink' }, schema: unlinkSchema },
    async (request, reply) => {
      await unlink(context, userOf(request), request.body.provider)
      return reply.code(204).send()
    },
  )
  app.get(
    '/api/auth/identities',
    { config: { guard: 'bearer', operation: 'socialLogin.listIdentities' }, schema: identitiesSchema },
    async (request, reply) => {
      const identities = await listIdentities(context.accounts.database, userOf(request).userId)
      return reply.send(identities.map(describeIdentity))
    },
  )
}

export function describeIdentity({
  provider,
  subject,
  email,
  name,
  is_proven,
  created_at,
  last_sign_in_at,
}: IdentityRow) {
  return {
    provider,
    subject,
    email,
    name,
    proven: is_proven,
    createdAt: created_at.toISOString(),
    lastSignInAt: last_sign_in_at?.toISOString() ?? null,
  }
}
