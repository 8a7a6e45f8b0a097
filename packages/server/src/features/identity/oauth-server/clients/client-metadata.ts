import { ProtocolError } from '../protocol-error.ts'
import { isScope } from '../scopes.ts'
import { findNameProblem } from './client-name.ts'
import { findRedirectUriProblem } from './redirect-uri.ts'

/** Supported metadata of a client (RFC 7591 §2). */
export interface ClientMetadata {
  readonly name: string | undefined
  readonly redirectUris: readonly string[]
  readonly scopes: readonly string[]
  /** Authentication at the token endpoint. Undefined if the metadata does not name it. */
  readonly authentication: string | undefined
}

export const redirectUriLimit = 100

/**
 * Parses the metadata of a client that no administrator has registered. Unknown members are ignored (RFC 7591
 * §2).
 *
 * @param permitted scopes for such a client
 * @throws ProtocolError invalid_redirect_uri, invalid_client_metadata
 */
export function readClientMetadata(
  metadata: Readonly<Record<string, unknown>>,
  permitted: readonly string[],
): ClientMetadata {
  const name = readText(metadata, 'client_name')?.trim()
  const problem = name === undefined ? undefined : findNameProblem(name)
  if (problem !== undefined) throw invalid(`client_name: ${problem}`)
  requireMember(metadata, 'response_types', 'code')
  const grantTypes = requireMember(metadata, 'grant_types', 'authorization_code')
  if (grantTypes.includes('client_credentials')) {
    throw invalid('grant_types: client_credentials is only for clients that an administrator has registered')
  }
  return {
    name: name === '' ? undefined : name,
    redirectUris: readRedirectUris(metadata.redirect_uris),
    scopes: readScopes(readText(metadata, 'scope'), permitted),
    authentication: readText(metadata, 'token_endpoint_auth_method'),
  }
}

function readRedirectUris(uris: unknown): readonly string[] {
  const refuse = (problem: string) => new ProtocolError('invalid_redirect_uri', problem)
  if (!isTextList(uris) || uris.length === 0 || uris.length > redirectUriLimit) {
    throw refuse(`redirect_uris: expected a list of one to ${redirectUriLimit} addresses`)
  }
  const problem = uris.map(findRedirectUriProblem).find((each) => each !== undefined)
  if (problem !== undefined) throw refuse(problem)
  return [...new Set(uris)]
}

/** Returns the permitted scopes among those that the client lists. Without a list, returns all of them. */
function readScopes(text: string | undefined, permitted: readonly string[]): readonly string[] {
  if (text === undefined) return permitted
  const scopes = text.split(' ').filter((scope) => isScope(scope) && permitted.includes(scope))
  if (scopes.length === 0) throw invalid(`scope: expected some of ${permitted.join(', ')}`)
  return [...new Set(scopes)]
}

/** Reads a list that must contain this member. A missing list contains only this member. */
function requireMember(metadata: Readonly<Record<string, unknown>>, name: string, member: string) {
  const list = metadata[name] ?? [member]
  if (!isTextList(list) || !list.includes(member)) throw invalid(`${name}: expected a list with ${member}`)
  return list
}

function readText(metadata: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const text = metadata[name] ?? undefined
  if (text !== undefined && typeof text !== 'string') throw invalid(`${name}: expected a text`)
  return text
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

function invalid(problem: string): ProtocolError {
  return new ProtocolError('invalid_client_metadata', problem)
}
