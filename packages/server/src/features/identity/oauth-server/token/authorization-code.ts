import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import { hashToken } from '../../../../lib/tokens.ts'
import type { ClientRow } from '../clients/queries.ts'
import { accessTokenOf, type OAuthContext } from '../context.ts'
import type { Form } from '../form.ts'
import { ProtocolError } from '../protocol-error.ts'
import { describeTokens, type OAuthTokens } from './answer.ts'
import { type CodeRow, findCode, redeemCode, revokeGrant } from './grants.ts'

/** Redeems a code (RFC 6749 §4.1.3). Only a successful redemption consumes it. @throws ProtocolError */
export async function redeemAuthorizationCode(
  context: OAuthContext,
  client: ClientRow,
  form: Form,
): Promise<OAuthTokens> {
  const { database, config } = context
  const hash = hashToken(form.require('code'))
  const redirectUri = form.require('redirect_uri')
  const verifier = form.require('code_verifier')
  const code = await requireUnused(context, hash)
  if (code.is_expired) throw refuse('authorization code expired')
  if (code.client_id !== client.id) throw refuse('client_id mismatch')
  if (code.redirect_uri !== redirectUri) throw refuse('redirect_uri mismatch')
  if (!isProof(verifier, code.code_challenge)) throw refuse('PKCE verification failed')
  const id = randomUUID()
  const accessTokenHash = hashToken(accessTokenOf(context, id, 1))
  const used = { hash, clientRowId: client.id, permission: code }
  const grant = await redeemCode(database, used, { id, accessTokenHash }, config)
  if (grant === undefined) {
    // Another redemption came first, the consent ended in the meantime, the user is disabled, or the client has lost
    // the scope.
    await requireUnused(context, hash)
    throw refuse('invalid authorization code')
  }
  return describeTokens(context, grant, { generation: 1, expiresIn: config.access_token_duration })
}

/** Revokes the grant of a code that is used again: either use may be that of a thief (RFC 6749 §4.1.2). */
async function requireUnused({ database, onRevoke }: OAuthContext, hash: Buffer): Promise<CodeRow> {
  const code = await findCode(database, hash)
  if (code === undefined) throw refuse('invalid authorization code')
  if (!code.is_used) return code
  if (code.grant_id !== null && (await revokeGrant(database, code.grant_id))) onRevoke()
  throw refuse('authorization code already used')
}

/** Verifies a code verifier with S256 (RFC 7636 §4.6). */
function isProof(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false
  const made = Buffer.from(createHash('sha256').update(verifier, 'ascii').digest('base64url'))
  const expected = Buffer.from(challenge)
  return made.length === expected.length && timingSafeEqual(made, expected)
}

function refuse(description: string): ProtocolError {
  return new ProtocolError('invalid_grant', description)
}
