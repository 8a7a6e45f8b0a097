import { hashToken, isToken } from '../../../lib/tokens.ts'
import { readRefreshToken } from '../accounts/index.ts'
import { accessTokenPrefix, type OAuthContext } from './context.ts'
import { deleteAccessToken, revokeGrant } from './token/grants.ts'

/** Revokes a token (RFC 7009): a refresh token with all that was given with it. An unknown one is no error (§2.2). */
export async function revokeToken({ database, key, onRevoke }: OAuthContext, token: string): Promise<void> {
  if (isToken(accessTokenPrefix, token)) {
    if (await deleteAccessToken(database, hashToken(token))) onRevoke()
    return
  }
  const content = readRefreshToken(token, key)
  if (content !== undefined && (await revokeGrant(database, content.sessionId))) onRevoke()
}
