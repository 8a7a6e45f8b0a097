import { ok, operation } from '../../../http/operation.ts'
import { formBody } from '../../../http/schemas.ts'
import { hashToken, isToken } from '../../../lib/tokens.ts'
import { Type } from '../../../lib/type.ts'
import { readRefreshToken } from '../accounts/index.ts'
import { accessTokenPrefix, type OAuthContext, requireEnabled } from './context.ts'
import { OAuthTokenParameters, readForm } from './form.ts'
import { OAuthError, uncached } from './protocol-error.ts'
import { deleteAccessToken, revokeGrant } from './token/grants.ts'

export const revoke = operation({
  id: 'oauth.revoke',
  method: 'POST',
  path: '/api/auth/revoke',
  guard: 'public',
  tag: 'oauth',
  summary: 'Revoke a token',
  description: 'RFC 7009. Requires a form with `token`. A refresh token ends with its whole grant.',
  documentedBody: formBody(OAuthTokenParameters),
  // Clients ignore the body (RFC 7009 §2.2).
  success: ok(Type.Object({}, { description: 'The response is the same when the token does not exist.' })),
  otherResponses: { 400: OAuthError },
  async handle(context: OAuthContext, { http }, reply) {
    void reply.headers(uncached)
    requireEnabled(context)
    await revokeToken(context, readForm(http).require('token'))
    return {}
  },
})

/** Revokes a token (RFC 7009), and with a refresh token its whole grant. An unknown token is not an error (§2.2). */
async function revokeToken({ database, key, onRevoke }: OAuthContext, token: string): Promise<void> {
  if (isToken(accessTokenPrefix, token)) {
    if (await deleteAccessToken(database, hashToken(token))) onRevoke()
    return
  }
  const content = readRefreshToken(token, key)
  if (content !== undefined && (await revokeGrant(database, content.sessionId))) onRevoke()
}
