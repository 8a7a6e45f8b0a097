import { timingSafeEqual } from 'node:crypto'
import type { Queryable } from '../../../../database/system-database.ts'
import { hashToken, isToken } from '../../../../lib/tokens.ts'
import { clientIdPrefix } from '../context.ts'
import type { Form } from '../form.ts'
import { ProtocolError } from '../protocol-error.ts'
import { isDocumentAddress } from './documents.ts'
import { type ClientRow, findClient } from './queries.ts'

/**
 * Returns a client. A mistyped id causes no query. A client with a metadata document is known after its first
 * request.
 */
export async function findKnownClient(database: Queryable, clientId: string): Promise<ClientRow | undefined> {
  const isPossible = isToken(clientIdPrefix, clientId) || isDocumentAddress(clientId)
  return isPossible ? await findClient(database, clientId) : undefined
}

/**
 * Authenticates the caller of the token endpoint (RFC 6749 §2.3). A confidential client sends its secret, in
 * the body or by HTTP Basic. A public one sends its id.
 *
 * @throws ProtocolError invalid_client, invalid_request
 */
export async function authenticateClient(
  database: Queryable,
  authorization: string | undefined,
  form: Form,
): Promise<ClientRow> {
  const { clientId, secret, isBasic } = readCredentials(authorization, form)
  const refuse = (description: string) =>
    // RFC 6749 §5.2 requires the response to name the scheme that was used.
    new ProtocolError(
      'invalid_client',
      description,
      isBasic ? { 'www-authenticate': 'Basic realm="basalt", charset="UTF-8"' } : {},
    )
  if (clientId === undefined || clientId === '') throw refuse('client_id is required')
  const client = await findKnownClient(database, clientId)
  if (client === undefined) throw refuse('unknown client')
  if (client.revoked_at !== null) throw refuse('client has been revoked')
  if (client.secret_hash === null) {
    // A public client has no secret that could be wrong.
    if (secret !== undefined && secret !== '') throw refuse('invalid client authentication')
    return client
  }
  if (secret === undefined || secret === '') throw refuse('client authentication required')
  if (!timingSafeEqual(hashToken(secret), client.secret_hash)) throw refuse('invalid client credentials')
  return client
}

interface Credentials {
  readonly clientId: string | undefined
  readonly secret: string | undefined
  readonly isBasic: boolean
}

function readCredentials(authorization: string | undefined, form: Form): Credentials {
  const clientId = form.get('client_id')
  const secret = form.get('client_secret')
  if (authorization === undefined) return { clientId, secret, isBasic: false }
  const basic = parseBasic(authorization)
  if (basic === undefined) {
    throw new ProtocolError('invalid_client', 'invalid client authentication', {
      'www-authenticate': 'Basic realm="basalt", charset="UTF-8"',
    })
  }
  if (secret !== undefined || (clientId !== undefined && clientId !== basic.clientId)) {
    throw new ProtocolError('invalid_request', 'multiple client authentication methods are not allowed')
  }
  return { ...basic, isBasic: true }
}

/** Parses HTTP Basic credentials. Both parts are form-encoded before they are joined (RFC 6749 §2.3.1). */
function parseBasic(header: string): { clientId: string; secret: string } | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header) ?? []
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon === -1) return undefined
  try {
    return { clientId: decode(text.slice(0, colon)), secret: decode(text.slice(colon + 1)) }
  } catch {
    return undefined
  }
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}
