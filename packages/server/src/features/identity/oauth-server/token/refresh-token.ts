import { hashToken } from '../../../../lib/tokens.ts'
import { type RefreshTokenContent, readRefreshToken } from '../../accounts/index.ts'
import type { ClientRow } from '../clients/queries.ts'
import { accessTokenOf, type OAuthContext } from '../context.ts'
import type { Form } from '../form.ts'
import { ProtocolError } from '../protocol-error.ts'
import { type Permission, parsePermission, permits } from '../scopes.ts'
import { describeTokens, type OAuthTokens } from './answer.ts'
import { findGrantState, refreshGrant, revokeReplayedGrant } from './grants.ts'

/** Replaces a refresh token (RFC 6749 §6, RFC 9700 §4.14.2). @throws ProtocolError */
export async function refreshTokens(
  context: OAuthContext,
  client: ClientRow,
  form: Form,
): Promise<OAuthTokens> {
  const { database, config, key } = context
  const content = readRefreshToken(form.require('refresh_token'), key)
  if (content === undefined) throw refuse('invalid refresh token')
  const scope = form.get('scope') || undefined
  const permission = scope === undefined ? undefined : parsePermission(scope)
  if (scope !== undefined && permission === undefined) throw beyondGrant()
  const { sessionId: grantId, generation } = content
  const accessTokenHash = hashToken(accessTokenOf(context, grantId, generation + 1))
  const refresh = { grantId, generation, clientRowId: client.id, accessTokenHash, permission }
  const grant = await refreshGrant(database, refresh, config)
  if (grant === undefined) throw await explain(context, client, content, permission)
  return describeTokens(context, grant, { generation: grant.generation, expiresIn: grant.expires_in })
}

/** Returns why a refresh token is rejected. A replay revokes the grant. */
async function explain(
  { database, onRevoke }: OAuthContext,
  client: ClientRow,
  { sessionId: grantId, generation }: RefreshTokenContent,
  permission: Permission | undefined,
): Promise<ProtocolError> {
  const state = await findGrantState(database, grantId)
  if (state === undefined) return refuse('invalid refresh token')
  if (state.client_id !== client.id) return refuse('client_id mismatch')
  if (state.is_revoked) return revoked()
  if (state.is_expired) return refuse('refresh token expired')
  if (await revokeReplayedGrant(database, grantId, generation)) {
    onRevoke()
    return revoked()
  }
  if (permission !== undefined && !permits(state, permission)) return beyondGrant()
  return refuse('invalid refresh token')
}

function beyondGrant(): ProtocolError {
  return new ProtocolError('invalid_scope', 'requested scope exceeds the granted one')
}

function revoked(): ProtocolError {
  return refuse('refresh token has been revoked (possible token theft)')
}

function refuse(description: string): ProtocolError {
  return new ProtocolError('invalid_grant', description)
}
