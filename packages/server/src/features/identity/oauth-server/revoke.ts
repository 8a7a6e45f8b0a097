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
  description: 'RFC 7009. A form with `token`; a refresh token ends with all that was given with it.',
  documentedBody: formBody(OAuthTokenParameters),
  // RFC 7009 §2.2: clients ignore what the body holds.
  success: ok(Type.Object({}, { description: 'Also when there is no such token.' })),
  otherResponses: { 400: OAuthError },
  async handle(context: OAuthContext, { http }, reply) {
    void reply.headers(uncached)
    requireEnabled(context)
    await revokeToken(context, readForm(http).require('token'))
    return {}
  },
})

/** Revokes a token (RFC 7009): a refresh token with all that was given with it. An unknown one is no error (§2.2). */
async function revokeToken({ database, key, onRevoke }: OAuthContext, token: string): Promise<void> {
  if (isToken(accessTokenPrefix, token)) {
    if (await deleteAccessToken(database, hashToken(token))) onRevoke()
    return
  }
  const content = readRefreshToken(token, key)
  if (content !== undefined && (await revokeGrant(database, content.sessionId))) onRevoke()
}
