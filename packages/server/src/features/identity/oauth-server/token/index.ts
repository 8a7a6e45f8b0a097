import { ok, operation } from '../../../../http/operation.ts'
import { choice, component, formBody } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { authenticateClient } from '../clients/authenticate.ts'
import type { ClientRow } from '../clients/queries.ts'
import { type OAuthContext, requireEnabled } from '../context.ts'
import { clientCredentials, eachOnce, type Form, readForm } from '../form.ts'
import { OAuthError, ProtocolError, uncached } from '../protocol-error.ts'
import { requireOwnResource } from '../resource.ts'
import { OAuthTokens } from './answer.ts'
import { redeemAuthorizationCode } from './authorization-code.ts'
import { grantClientCredentials } from './client-credentials.ts'
import { refreshTokens } from './refresh-token.ts'

type Grant = (context: OAuthContext, client: ClientRow, form: Form) => Promise<OAuthTokens>

const grants = {
  authorization_code: redeemAuthorizationCode,
  refresh_token: refreshTokens,
  client_credentials: grantClientCredentials,
} satisfies Record<string, Grant>

export const grantTypes = Object.keys(grants) as readonly (keyof typeof grants)[]

const OAuthTokenRequest = component(
  'OAuthTokenRequest',
  Type.Object(
    {
      grant_type: choice(grantTypes),
      ...clientCredentials,
      code: Type.Optional(Type.String()),
      redirect_uri: Type.Optional(Type.String()),
      code_verifier: Type.Optional(Type.String({ minLength: 43, maxLength: 128 })),
      refresh_token: Type.Optional(Type.String()),
      scope: Type.Optional(Type.String()),
      allowed_tables: Type.Optional(Type.String()),
    },
    eachOnce,
  ),
)

/** Token endpoint (RFC 6749 §3.2). */
export const token = operation({
  id: 'oauth.token',
  method: 'POST',
  path: '/api/auth/token',
  guard: 'public',
  tag: 'oauth',
  summary: 'Exchange a code, a refresh token or client credentials for tokens',
  description:
    'RFC 6749 §3.2. Requires a form with `grant_type` (`authorization_code`, `refresh_token`, ' +
    '`client_credentials`), `client_id` and `client_secret` (or HTTP Basic). An authorization code also needs ' +
    '`code`, `redirect_uri` and `code_verifier`. A refresh needs `refresh_token` and, for a narrower access ' +
    'token, `scope`. Client credentials need `scope` and optionally `allowed_tables`.',
  documentedBody: formBody(OAuthTokenRequest),
  success: ok(OAuthTokens),
  otherResponses: { 400: OAuthError, 401: OAuthError },
  async handle(context: OAuthContext, { http }, reply) {
    void reply.headers(uncached)
    requireEnabled(context)
    const form = readForm(http)
    const type = form.require('grant_type')
    const grant = grantTypes.find((each) => each === type)
    if (grant === undefined) throw new ProtocolError('unsupported_grant_type', 'unsupported grant_type')
    const client = await authenticateClient(context.database, http.headers.authorization, form)
    requireOwnResource(context, form.all('resource'))
    return await grants[grant](context, client, form)
  },
})
