import { createHmac, type KeyObject } from 'node:crypto'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import { createToken } from '../../../lib/tokens.ts'
import type { AccountContext } from '../accounts/index.ts'
import type { ClientDocuments } from './clients/documents.ts'
import type { OAuthServerConfig } from './config.ts'
import { oauthServerErrors } from './errors.ts'

export const accessTokenPrefix = 'basalt_at_'
export const clientIdPrefix = 'basalt_cid_'
export const clientSecretPrefix = 'basalt_cs_'

/** Dependencies of the authorization server. */
export interface OAuthContext {
  readonly config: OAuthServerConfig['oauth_provider']
  readonly database: SystemDatabase
  /**
   * Key that makes the refresh and access tokens of a grant. Every node derives the same successor of a refresh
   * token.
   */
  readonly key: KeyObject
  readonly appName: string
  readonly publicBaseUrl: () => string
  /** Listener that runs after the commit of a revocation, because cached tokens may have ended. */
  readonly onRevoke: () => void
  /** Clients with metadata documents. */
  readonly documents: ClientDocuments
  readonly throttle: AccountContext['throttle']
  /** Locks the account of the user who consents. @throws AppError invalid_token, insufficient_aal */
  readonly lockGranter: (transaction: Queryable, caller: UserIdentity) => Promise<{ readonly id: string }>
  /** True if limits per address are wide. */
  readonly isDevelopment: boolean
}

/** Returns the issuer identifier (RFC 8414 §2). */
export function issuerOf({ publicBaseUrl }: Pick<OAuthContext, 'publicBaseUrl'>): string {
  return publicBaseUrl().replace(/\/+$/, '')
}

/** Rejects requests while the server is disabled. @throws AppError oauth_provider_disabled */
export function requireEnabled({ config }: Pick<OAuthContext, 'config'>): void {
  if (!config.enabled) throw oauthServerErrors.oauthProviderDisabled()
}

/** Returns the access token that belongs to a grant's refresh token of this generation. */
export function accessTokenOf(
  { key }: Pick<OAuthContext, 'key'>,
  grantId: string,
  generation: number,
): string {
  const bits = createHmac('sha256', key)
    .update(JSON.stringify(['access token', grantId, generation]))
    .digest()
  return createToken(accessTokenPrefix, bits)
}
