import { findKnownClient } from '../clients/authenticate.ts'
import { isDocumentAddress } from '../clients/documents.ts'
import type { ClientRow } from '../clients/queries.ts'
import { isRegistered } from '../clients/redirect-uri.ts'
import type { OAuthContext } from '../context.ts'
import { ProtocolError } from '../protocol-error.ts'
import { requireOwnResource } from '../resource.ts'
import { type Access, permit, readTables } from '../scopes.ts'

const stateLimitBytes = 2048

/** Unchecked parameters of a client. */
export interface Parameters {
  readonly response_type?: string | undefined
  readonly client_id?: string | undefined
  readonly redirect_uri?: string | undefined
  readonly scope?: string | undefined
  readonly state?: string | undefined
  readonly code_challenge?: string | undefined
  readonly code_challenge_method?: string | undefined
  readonly allowed_tables: readonly string[]
  readonly resource: readonly string[]
  /** State in the encoding of an address. */
  readonly encodedState?: string | undefined
}

/** Redirect address of a response. */
export interface Target {
  readonly client: ClientRow
  readonly redirectUri: string
  readonly encodedState: string | undefined
}

/** Authorization request that may be granted (RFC 6749 §4.1.1). */
export interface AuthorizationRequest extends Target, Access {
  readonly state: string
  readonly encodedState: string
  readonly codeChallenge: string
}

const single = [
  'response_type',
  'client_id',
  'redirect_uri',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
] as const

/** Parameters that determine the response to the client. */
export const answering = ['client_id', 'redirect_uri', 'state'] as const

/**
 * Reads the query of an address. The state keeps its encoding, since its bytes may not be text.
 *
 * @param unique parameters that must not be repeated; of other repeated ones the first counts
 * @throws ProtocolError invalid_request
 */
export function readQuery(query: string, unique: readonly (typeof single)[number][] = single): Parameters {
  const decoded = new URLSearchParams(query)
  for (const name of unique) {
    if (decoded.getAll(name).length > 1) {
      throw new ProtocolError('invalid_request', `${name} must not be repeated`)
    }
  }
  const state = query.split('&').find((part) => part.startsWith('state='))
  return {
    ...Object.fromEntries(single.map((name) => [name, decoded.get(name) ?? undefined])),
    allowed_tables: decoded.getAll('allowed_tables'),
    resource: decoded.getAll('resource'),
    encodedState: encodeRest(state?.slice('state='.length) ?? encode(decoded.get('state'))),
  }
}

/** Reads the members of a body. @throws ProtocolError invalid_request */
export function readBody(body: Omit<Parameters, 'encodedState'>): Parameters {
  if (body.state?.isWellFormed() === false) {
    throw new ProtocolError('invalid_request', 'state must be valid Unicode')
  }
  return { ...body, encodedState: encode(body.state) }
}

function encode(state: string | null | undefined): string | undefined {
  return state == null ? undefined : encodeURIComponent(state)
}

/** Encodes characters that an address must not contain, in case the client sent them. */
function encodeRest(encoded: string | undefined): string | undefined {
  return encoded?.replace(/[^!$%&'()*+,\-./0-9:;=?@A-Z_a-z~]/gu, (character) => encodeURIComponent(character))
}

/**
 * Checks an authorization request.
 *
 * @param address of the caller, which limits how many documents it causes to be fetched
 * @throws ProtocolError for missing parameters, then for the client, then for the values
 */
export async function checkRequest(
  context: OAuthContext,
  parameters: Parameters,
  address: string,
): Promise<AuthorizationRequest> {
  const { state = '', code_challenge: codeChallenge = '' } = parameters
  const { response_type: responseType = '' } = parameters
  if (responseType === '') throw fault(responseTypeFault)
  if (responseType !== 'code') throw new OtherResponseType()
  for (const name of ['client_id', 'redirect_uri'] as const) {
    if ((parameters[name] ?? '') === '') throw fault(`${name} is required`)
  }
  const { scope = '' } = parameters
  if (scope === '') throw new ProtocolError('invalid_scope', 'scope is required')
  if (state === '') throw fault('state is required')
  if (codeChallenge === '') throw fault('code_challenge is required')
  if (parameters.code_challenge_method !== 'S256') throw fault('code_challenge_method must be S256')
  const { client, redirectUri } = await requireTarget(context, parameters, address)
  const permission = permit(client.scopes, scope)
  if (permission === undefined) {
    throw new ProtocolError('invalid_scope', 'requested scope is not allowed for this client')
  }
  if (Buffer.byteLength(state) > stateLimitBytes) throw fault(`state: at most ${stateLimitBytes} bytes`)
  if (!/^[A-Za-z0-9_-]{43}$/.test(codeChallenge)) {
    throw fault('code_challenge must be a SHA-256 in base64url without padding')
  }
  requireOwnResource(context, parameters.resource)
  const allowedTables = readTables(parameters.allowed_tables)
  const encodedState = parameters.encodedState ?? ''
  return { client, redirectUri, ...permission, state, encodedState, codeChallenge, allowedTables }
}

/**
 * Returns the client and one of its addresses. Errors may only be sent there (RFC 6749 §4.1.2.1).
 *
 * @throws ProtocolError
 */
export async function requireTarget(
  { database, documents }: OAuthContext,
  parameters: Parameters,
  address: string,
): Promise<Target> {
  const { client_id: clientId = '', redirect_uri: redirectUri = '', encodedState } = parameters
  const client = isDocumentAddress(clientId)
    ? await documents.find(clientId, address)
    : await findKnownClient(database, clientId)
  if (client === undefined) throw new ProtocolError('invalid_client', 'invalid client_id')
  if (client.revoked_at !== null) throw new ProtocolError('invalid_client', 'client has been revoked')
  if (!isRegistered(client.redirect_uris, redirectUri)) {
    throw fault('redirect_uri does not match registered URI')
  }
  return { client, redirectUri, encodedState }
}

const responseTypeFault = 'response_type must be code'

/** Error for an unsupported response type. It has its own code in redirects to clients (RFC 6749 §4.1.2.1). */
export class OtherResponseType extends ProtocolError {
  readonly redirectCode = 'unsupported_response_type'

  constructor() {
    super('invalid_request', responseTypeFault)
  }
}

function fault(description: string): ProtocolError {
  return new ProtocolError('invalid_request', description)
}
