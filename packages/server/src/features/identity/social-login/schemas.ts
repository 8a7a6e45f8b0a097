import {
  bearerSecurity,
  component,
  formBody,
  noContent,
  requiredByHandler,
  responses,
  uuidByHandler,
} from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { authenticationOrPendingSchema, authenticationSchema } from '../accounts/index.ts'

const tags = ['accounts']
const provider = Type.String({ description: 'Such as `google`, or the name of an OpenID provider.' })
const params = Type.Object({ provider })
const text = (description: string) => Type.Optional(Type.String({ description, maxLength: 4096 }))
const nullable = Type.Union([Type.String(), Type.Null()])

export const startSchema = {
  tags,
  summary: 'Sign in with a provider',
  description:
    'For browsers: sets a cookie and redirects to the provider. With `state`, the client id of a stream opened with ' +
    '`oauth=true`, a page says first what is about to happen.',
  params,
  querystring: Type.Object({
    redirect_to: text('Where to return; a path, or an address on an allowed host.'),
    state: text('Client id of the stream that waits for the tokens.'),
    scopes: text('Not used.'),
    link: text('What `POST /api/auth/link/oauth/begin` has answered.'),
    confirm: text('What the page leads to.'),
  }),
  response: responses({
    200: {
      description: 'A page that says what is about to happen.',
      content: { 'text/html': { schema: Type.String() } },
    },
    307: Type.Null({ description: 'To the provider.' }),
  }),
}

export const callbackSchema = {
  tags,
  summary: 'Finish signing in with a provider',
  description:
    'For browsers that return from the provider. Redirects with `token` and `refreshToken`, or `mfa_pending` and ' +
    '`mfa_token`, in the fragment; answers JSON where no redirect is configured.',
  params,
  response: responses({ 200: authenticationOrPendingSchema }),
}

/** Callback of providers that post a form (Apple, `response_mode=form_post`). */
export const formCallbackSchema = {
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

export const linkSchema = {
  tags,
  summary: 'Give an anonymous account an identity at a provider',
  security: bearerSecurity,
  body: Type.Object({
    provider: requiredByHandler(provider),
    access_token: text("The provider's token, issued to this server's client."),
    id_token: text('Of Apple, whose access tokens open nothing: the id_token in place of an access token.'),
  }),
  response: responses({ 200: authenticationSchema }),
}

export const beginLinkSchema = {
  tags,
  summary: 'Begin to link a provider to the account',
  description:
    'The browser goes to `url`, within ten minutes. With a second factor enrolled this takes an aal2 session.',
  security: bearerSecurity,
  body: Type.Object({ provider: requiredByHandler(provider), redirect_to: text('Where to return.') }),
  response: responses({ 200: Type.Object({ url: Type.String() }) }),
}

export const unlinkSchema = {
  tags,
  summary: 'Unlink a provider from the account',
  description: 'The last way to sign in is kept. With a second factor enrolled this takes an aal2 session.',
  security: bearerSecurity,
  body: Type.Object({ provider: requiredByHandler(provider) }),
  response: responses({ 204: noContent }),
}

export const identitiesSchema = {
  tags,
  summary: "The account's identities at providers",
  security: bearerSecurity,
  response: responses({
    200: Type.Array(
      component(
        'ProviderIdentity',
        Type.Object({
          provider: Type.String(),
          subject: Type.String({ description: "The provider's id of the person." }),
          email: nullable,
          name: nullable,
          proven: Type.Boolean({ description: 'False: linked, but not yet a way to sign in.' }),
          createdAt: Type.String(),
          lastSignInAt: nullable,
        }),
      ),
    ),
  }),
}

export const identitiesOfUserSchema = {
  ...identitiesSchema,
  tags: ['admin'],
  summary: "A user's identities at providers",
  params: Type.Object({ id: uuidByHandler() }),
}

export const removeIdentitySchema = {
  tags: ['admin'],
  security: bearerSecurity,
  summary: 'Unlink a provider from a user',
  description: 'Also the last way to sign in.',
  params: Type.Object({ id: uuidByHandler(), provider }),
  response: responses({ 204: noContent }),
}

const listed = component(
  'SignInProvider',
  Type.Object({
    name: Type.String(),
    type: Type.String({ description: '`builtin` or `oidc`.' }),
    display_name: Type.String(),
    enabled: Type.Boolean(),
    client_id_configured: Type.Boolean(),
    client_secret_configured: Type.Boolean(),
    store_provider_tokens: Type.Boolean(),
    missing: Type.Union([Type.String(), Type.Null()], {
      description: 'The first setting that the provider cannot work without.',
    }),
    changed: Type.Boolean({
      description: 'Whether an administrator has changed what the configuration says.',
    }),
    callback_url: Type.String({ description: 'To be registered at the provider.' }),
  }),
)

const admin = { tags: ['admin'], security: bearerSecurity }

export const providersSchema = {
  ...admin,
  summary: 'Sign-in providers',
  response: responses({ 200: Type.Object({ providers: Type.Array(listed) }) }),
}

export const changeProviderSchema = {
  ...admin,
  summary: 'Change a sign-in provider',
  description: 'What is left out stays. In force on every node within a second.',
  params,
  body: Type.Object({
    enabled: Type.Optional(Type.Boolean()),
    client_id: text('Id of the client.'),
    client_secret: text('Secret of the client; stored encrypted.'),
    store_provider_tokens: Type.Optional(Type.Boolean()),
  }),
  response: responses({ 200: listed }),
}

export const resetProviderSchema = {
  ...admin,
  summary: 'Put the configuration of a sign-in provider back in force',
  params,
  response: responses({ 204: noContent }),
}

export const testProviderSchema = {
  ...admin,
  summary: 'Test a sign-in provider',
  description: 'Discovers the provider and asks its token endpoint whether it knows the client.',
  params,
  response: responses({
    200: Type.Object({
      success: Type.Boolean(),
      message: Type.String(),
      callback_url: Type.String({ description: 'To be registered at the provider.' }),
    }),
  }),
}

export const tokensSchema = {
  ...admin,
  summary: "A user's tokens of providers",
  params: Type.Object({ id: uuidByHandler() }),
  response: responses({
    200: Type.Array(
      component(
        'ProviderTokens',
        Type.Object({
          provider: Type.String(),
          subject: Type.String(),
          accessToken: Type.String(),
          refreshToken: Type.Optional(Type.String()),
          expiresAt: nullable,
          renewal: Type.String({
            description:
              '`active`; `failing`: the provider was not available, which is tried again; `revoked`: the person has to sign in ' +
              'again; `none`: the provider gave no refresh token, or no expiry.',
          }),
          renewalFailedAt: nullable,
        }),
      ),
    ),
  }),
}

export const forgetTokensSchema = {
  ...admin,
  summary: "Remove a user's tokens of a provider",
  params: Type.Object({ id: uuidByHandler(), provider }),
  response: responses({ 204: noContent }),
}
