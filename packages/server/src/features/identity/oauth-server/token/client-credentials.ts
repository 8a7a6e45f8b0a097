import { randomUUID } from 'node:crypto'
import { hashToken } from '../../../../lib/tokens.ts'
import type { ClientRow } from '../clients/queries.ts'
import { accessTokenOf, type OAuthContext } from '../context.ts'
import type { Form } from '../form.ts'
import { ProtocolError } from '../protocol-error.ts'
import { permit, readTables } from '../scopes.ts'
import { describeTokens, type OAuthTokens } from './answer.ts'
import { insertClientGrant } from './grants.ts'

/** Issues a token for the client itself (RFC 6749 §4.4). @throws ProtocolError */
export async function grantClientCredentials(
  context: OAuthContext,
  client: ClientRow,
  form: Form,
): Promise<OAuthTokens> {
  if (client.client_type !== 'confidential') {
    throw new ProtocolError(
      'unauthorized_client',
      'client_credentials is only allowed for confidential clients',
    )
  }
  if (client.source !== 'administrator') {
    throw new ProtocolError(
      'unauthorized_client',
      'client_credentials is only allowed for clients that an administrator has registered',
    )
  }
  const scope = form.get('scope') ?? ''
  if (scope === '') throw new ProtocolError('invalid_scope', 'scope is required')
  const permission = permit(client.scopes, scope)
  if (permission === undefined) throw notAllowed()
  const id = randomUUID()
  const grant = { id, ...permission, allowed_tables: readTables(form.all('allowed_tables')) }
  const accessTokenHash = hashToken(accessTokenOf(context, id, 0))
  const { database, config } = context
  const inserted = { ...grant, clientRowId: client.id, accessTokenHash }
  // The client has lost the scope in the meantime.
  if (!(await insertClientGrant(database, inserted, config))) throw notAllowed()
  return describeTokens(context, grant, { generation: 0, expiresIn: config.access_token_duration })
}

function notAllowed(): ProtocolError {
  return new ProtocolError('invalid_scope', 'requested scope is not allowed for this client')
}
