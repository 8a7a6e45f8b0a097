import { defaultAppId } from '../../../../http/access/identity.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { createToken, hashToken } from '../../../../lib/tokens.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { requireAttempt } from '../../accounts/index.ts'
import { clientIdPrefix, clientSecretPrefix, type OAuthContext } from '../context.ts'
import { oauthServerErrors } from '../errors.ts'
import { ProtocolError } from '../protocol-error.ts'
import { readClientMetadata } from './client-metadata.ts'
import { insertClient } from './queries.ts'

const methods = ['client_secret_basic', 'client_secret_post', 'none'] as const

/** RFC 7591 §3.2.1. */
export interface RegisteredClient {
  readonly client_id: string
  readonly client_secret?: string
  readonly client_id_issued_at: number
  /** 0: never. */
  readonly client_secret_expires_at?: 0
  readonly client_name: string
  readonly redirect_uris: readonly string[]
  readonly token_endpoint_auth_method: string
  readonly grant_types: readonly string[]
  readonly response_types: readonly string[]
  readonly scope: string
}

/**
 * Registers a client that registers itself (RFC 7591). It may ask users for access, and nothing for itself.
 *
 * @throws AppError client_registration_disabled, too_many_requests @throws ProtocolError invalid_redirect_uri, …
 */
export async function registerClient(
  context: OAuthContext,
  body: Readonly<Record<string, unknown>>,
  { origin, address }: { readonly origin: RequestOrigin; readonly address: string },
): Promise<RegisteredClient> {
  const { config, database } = context
  if (!config.dynamic_registration) throw oauthServerErrors.clientRegistrationDisabled()
  const metadata = readClientMetadata(body, config.self_registered_scopes)
  const { redirectUris, scopes, name = 'Unnamed application' } = metadata
  const { authentication = 'client_secret_basic' } = metadata
  if (!methods.some((method) => method === authentication)) {
    const expected = `token_endpoint_auth_method: expected one of ${methods.join(', ')}`
    throw new ProtocolError('invalid_client_metadata', expected)
  }
  await requireRegistration(context, 'oauth.register', address)
  const clientId = createToken(clientIdPrefix)
  const secret = authentication === 'none' ? undefined : createToken(clientSecretPrefix)
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
    const detail = { name, redirectUris, scopes }
    await recordAudit(transaction, {
      actor: 'client',
      action: 'oauth_clients.register',
      target: clientId,
      detail,
      origin,
    })
    return client.created_at
  })
  return {
    client_id: clientId,
    ...(secret === undefined ? {} : { client_secret: secret }),
    client_id_issued_at: Math.floor(createdAt.getTime() / 1000),
    ...(secret === undefined ? {} : { client_secret_expires_at: 0 }),
    client_name: name,
    redirect_uris: redirectUris,
    token_endpoint_auth_method: authentication,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    scope: scopes.join(' '),
  }
}

/** Counts what an address adds: each leaves a row. @throws AppError too_many_requests */
export async function requireRegistration(
  { config, throttle, isDevelopment }: Pick<OAuthContext, 'config' | 'throttle' | 'isDevelopment'>,
  name: string,
  address: string,
): Promise<void> {
  const attempts = config.registrations_per_hour * (isDevelopment ? 100 : 1)
  await requireAttempt(throttle, { name, attempts, windowSeconds: 3600 }, address)
}
