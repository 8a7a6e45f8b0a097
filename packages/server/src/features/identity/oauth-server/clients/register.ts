import { defaultAppId } from '../../../../http/access/identity.ts'
import { created, operation } from '../../../../http/operation.ts'
import { addressKey } from '../../../../http/requests/client-address.ts'
import { checkedByHandler, choice, requiredByHandler } from '../../../../http/schemas.ts'
import { createToken, hashToken } from '../../../../lib/tokens.ts'
import { Type } from '../../../../lib/type.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { perAddress } from '../../../operations/throttle/index.ts'
import { requireAttempt } from '../../accounts/index.ts'
import { clientIdPrefix, clientSecretPrefix, type OAuthContext, requireEnabled } from '../context.ts'
import { oauthServerErrors } from '../errors.ts'
import { OAuthError, ProtocolError, uncached } from '../protocol-error.ts'
import { readClientMetadata, redirectUriLimit } from './client-metadata.ts'
import { nameForm, nameLimit } from './client-name.ts'
import { insertClient } from './queries.ts'
import { RedirectUri } from './redirect-uri.ts'

const texts = Type.Array(Type.String())
const methods = ['client_secret_basic', 'client_secret_post', 'none'] as const

/** Describes a member that the metadata parser checks, with the errors of RFC 7591 §3.2.2. */
const metadata = (keywords: Readonly<Record<string, unknown>>) =>
  Type.Optional(checkedByHandler(keywords, Type.Unknown()))

/** Registers a client at its own request (RFC 7591). It may request access from users, and gets none for itself. */
export const register = operation({
  id: 'oauth.register',
  method: 'POST',
  path: '/api/auth/clients',
  guard: 'public',
  tag: 'oauth',
  summary: 'Register a client',
  description:
    'Dynamic registration (RFC 7591), while `auth.oauth_provider.dynamic_registration` is on. Other members are ignored.',
  body: Type.Object(
    {
      redirect_uris: requiredByHandler(
        checkedByHandler(
          {
            type: 'array',
            items: RedirectUri,
            minItems: 1,
            maxItems: redirectUriLimit,
          },
          Type.Unknown(),
        ),
      ),
      client_name: metadata({ type: 'string', maxLength: nameLimit, pattern: nameForm }),
      scope: metadata({
        type: 'string',
        pattern: '(^| )(readonly|readwrite)( |$)',
        description: 'Scopes of `auth.oauth_provider.self_registered_scopes`. Others are dropped.',
      }),
      token_endpoint_auth_method: metadata({ type: 'string', enum: methods, default: methods[0] }),
      grant_types: metadata({
        type: 'array',
        items: { type: 'string', not: { const: 'client_credentials' } },
        contains: { const: 'authorization_code' },
      }),
      response_types: metadata({ type: 'array', items: { type: 'string' }, contains: { const: 'code' } }),
    },
    { additionalProperties: true },
  ),
  success: created(
    Type.Object({
      client_id: Type.String(),
      client_secret: Type.Optional(Type.String()),
      client_id_issued_at: Type.Integer(),
      client_secret_expires_at: Type.Optional(Type.Literal(0, { description: 'Never.' })),
      client_name: Type.String(),
      redirect_uris: texts,
      token_endpoint_auth_method: choice(methods),
      grant_types: texts,
      response_types: texts,
      scope: Type.String(),
    }),
  ),
  otherResponses: { 400: OAuthError },
  async handle(context: OAuthContext, { body, http, origin }, reply) {
    void reply.headers(uncached)
    requireEnabled(context)
    const { config, database } = context
    if (!config.dynamic_registration) throw oauthServerErrors.clientRegistrationDisabled()
    const { redirectUris, scopes, ...metadata } = readClientMetadata(body, config.self_registered_scopes)
    const { name = 'Unnamed application', authentication = 'client_secret_basic' } = metadata
    const method = methods.find((each) => each === authentication)
    if (method === undefined) {
      const expected = `token_endpoint_auth_method: expected one of ${methods.join(', ')}`
      throw new ProtocolError('invalid_client_metadata', expected)
    }
    await requireRegistration(context, 'oauth.register', addressKey(http))
    const clientId = createToken(clientIdPrefix)
    const secret = method === 'none' ? undefined : createToken(clientSecretPrefix)
    const createdAt = await database.transaction(async (transaction) => {
      const client = await insertClient(transaction, {
        app_id: defaultAppId,
        client_id: clientId,
        name,
        client_type: secret === undefined ? 'public' : 'confidential',
        secret_hash: secret === undefined ? null : hashToken(secret),
        redirect_uris: redirectUris,
        scopes,
        source: 'registration',
      })
      if (client === undefined) throw new Error('there is no default app')
      const entry = {
        action: 'oauth_clients.register',
        target: clientId,
        detail: { name, redirectUris, scopes },
      }
      await recordAudit(transaction, { actor: 'client', ...entry, origin })
      return client.created_at
    })
    return {
      client_id: clientId,
      client_id_issued_at: Math.floor(createdAt.getTime() / 1000),
      ...(secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 as const }),
      client_name: name,
      redirect_uris: redirectUris,
      token_endpoint_auth_method: method,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: scopes.join(' '),
    }
  },
})

/** Counts the registrations of an address, each of which leaves a row. @throws AppError too_many_requests */
export async function requireRegistration(
  context: Pick<OAuthContext, 'config' | 'throttle' | 'isDevelopment'>,
  name: string,
  address: string,
): Promise<void> {
  const attempts = perAddress(context.config.registrations_per_hour, context)
  await requireAttempt(context.throttle, { name, attempts, windowSeconds: 3600 }, address)
}
