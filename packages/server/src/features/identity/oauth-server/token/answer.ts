import { createRefreshToken } from '../../accounts/index.ts'
import { accessTokenOf, type OAuthContext } from '../context.ts'
import { formatPermission } from '../scopes.ts'
import type { GrantRow } from './grants.ts'

/** RFC 6749 §5.1. */
export interface TokenAnswer {
  readonly access_token: string
  readonly token_type: 'Bearer'
  readonly expires_in: number
  readonly refresh_token?: string
  readonly scope: string
  /** Collections; absent: all. */
  readonly allowed_tables?: readonly string[]
}

export function describeTokens(
  context: OAuthContext,
  grant: GrantRow,
  { generation, expiresIn }: { readonly generation: number; readonly expiresIn: number },
): TokenAnswer {
  return {
    access_token: accessTokenOf(context, grant.id, generation),
    token_type: 'Bearer',
    expires_in: expiresIn,
    // A client that acts for itself asks again with its secret (RFC 6749 §4.4.3).
    ...(generation === 0
      ? {}
      : { refresh_token: createRefreshToken({ sessionId: grant.id, generation }, context.key) }),
    scope: formatPermission(grant),
    ...(grant.allowed_tables.length === 0 ? {} : { allowed_tables: grant.allowed_tables }),
  }
}
