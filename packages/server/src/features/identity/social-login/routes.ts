import { acceptForms } from '../../../http/requests/body.ts'
import { formBody, responses } from '../../../http/schemas.ts'
import type { HttpServer } from '../../../http/server.ts'
import { AppError } from '../../../lib/errors.ts'
import { Type } from '../../../lib/type.ts'
import { authenticationOrPendingSchema } from '../accounts/index.ts'
import { finish } from './callback.ts'
import type { SocialLoginContext } from './context.ts'
import { socialLoginErrors } from './errors.ts'
import { start } from './start.ts'

const tags = ['accounts']
const params = Type.Object({
  provider: Type.String({ description: 'Name of a provider such as `google`, or of an OpenID provider.' }),
})
const text = (description: string) => Type.Optional(Type.String({ description, maxLength: 4096 }))

const startSchema = {
  tags,
  summary: 'Sign in with a provider',
  description:
    'For browsers: sets a cookie and redirects to the provider. With `state`, the client id of a stream ' +
    'opened with `oauth=true`, a page first describes the sign-in.',
  params,
  querystring: Type.Object({
    redirect_to: text('Address to return to: a path, or an address on an allowed host.'),
    state: text('Client id of the stream that waits for the tokens.'),
    scopes: text('Ignored.'),
    link: text('Ticket from the address that `POST /api/auth/link/oauth/begin` returned.'),
    confirm: text('Confirmation from the address that the page links to.'),
  }),
  response: responses({
    200: {
      description: 'Page that describes the sign-in.',
      content: { 'text/html': { schema: Type.String() } },
    },
    307: Type.Null({ description: 'Redirects to the provider.' }),
  }),
}

const callbackSchema = {
  tags,
  summary: 'Finish signing in with a provider',
  description:
    'For browsers that return from the provider. Redirects with `token` and `refreshToken`, or `mfa_pending` ' +
    'and `mfa_token`, in the fragment. Where no redirect is configured, responds with JSON.',
  params,
  response: responses({ 200: authenticationOrPendingSchema }),
}

/** Schema of the callback of providers that post a form (Apple, `response_mode=form_post`). */
const formCallbackSchema = {
  ...callbackSchema,
  documentedBody: formBody(
    Type.Object({
      state: Type.Optional(Type.String()),
      code: Type.Optional(Type.String()),
      user: Type.Optional(Type.String({ description: 'JSON with the name, at the first sign-in.' })),
      error: Type.Optional(Type.String()),
    }),
  ),
}

/** Adds the routes of the sign-in with providers, for browsers: cookies, redirects and forms. */
export function socialLoginRoutes(app: HttpServer, context: SocialLoginContext): void {
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
}
