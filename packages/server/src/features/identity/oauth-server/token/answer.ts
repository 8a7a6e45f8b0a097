import { type Answered, component } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { createRefreshToken } from '../../accounts/index.ts'
import { accessTokenOf, type OAuthContext } from '../context.ts'
import { formatPermission } from '../scopes.ts'
import type { GrantRow } from './grants.ts'

/** Token response (RFC 6749 §5.1). */
export const OAuthTokens = component(
  'OAuthTokens',
  Type.Object({
    access_token: Type.String(),
    token_type: Type.Literal('Bearer'),
    expires_in: Type.Integer({ description: 'Seconds.' }),
    refresh_token: Type.Optional(Type.String()),
    scope: Type.String(),
    allowed_tables: Type.Optional(
      Type.Array(Type.String(), { description: 'Collections that the token grants. Missing means all.' }),
    ),
  }),
)
export type OAuthTokens = Answered<typeof OAuthTokens>

export function describeTokens(
  context: OAuthContext,
  grant: GrantRow,
  { generation, expiresIn }: { readonly generation: number; readonly expiresIn: number },
): OAuthTokens {
  return {
    access_token: accessTokenOf(context, grant.id, generation),
    token_type: 'Bearer',
    expires_in: expiresIn,
    // A client that acts for itself requests a new token with its secret (RFC 6749 §4.4.3).
    ...(generation === 0
      ? {}
      : { refresh_token: createRefreshToken({ sessionId: grant.id, generation }, context.key) }),
    scope: formatPermission(grant),
    ...(grant.allowed_tables.length === 0 ? {} : { allowed_tables: grant.allowed_tables }),
  }
}
