import { ProtocolError } from '../protocol-error.ts'
import { isScope } from '../scopes.ts'
import { findNameProblem } from './client-name.ts'
import { findRedirectUriProblem } from './redirect-uri.ts'

/** Metadata of a client (RFC 7591 §2), as far as it matters here. */
export interface ClientMetadata {
  readonly name: string | undefined
  readonly redirectUris: readonly string[]
  readonly scopes: readonly string[]
  /** Authentication at the token endpoint; undefined: it does not say. */
  readonly authentication: string | undefined
}

export const redirectUriLimit = 100

/**
 * Reads metadata of a client that no administrator has registered. Members that are not known are ignored (RFC 7591 §2).
 *
 * @param permitted scopes that such a client may ask for
 * @throws ProtocolError invalid_redirect_uri, invalid_client_metadata
 */
export function readClientMetadata(
  given: Readonly<Record<string, unknown>>,
  permitted: readonly string[],
): ClientMetadata {
  const name = readText(given, 'client_name')?.trim()
  const problem = name === undefined ? undefined : findNameProblem(name)
  if (problem !== undefined) throw invalid(`client_name: ${problem}`)
  requireMember(given, 'response_types', 'code')
  const grantTypes = requireMember(given, 'grant_types', 'authorization_code')
  if (grantTypes.includes('client_credentials')) {
    throw invalid('grant_types: client_credentials is only for clients that an administrator has registered')
  }
  return {
    name: name === '' ? undefined : name,
    redirectUris: readRedirectUris(given.redirect_uris),
    scopes: readScopes(readText(given, 'scope'), permitted),
    authentication: readText(given, 'token_endpoint_auth_method'),
  }
}

function readRedirectUris(given: unknown): readonly string[] {
  const refuse = (problem: string) => new ProtocolError('invalid_redirect_uri', problem)
  if (!isTextList(given) || given.length === 0 || given.length > redirectUriLimit) {
    throw refuse(`redirect_uris: expected a list of one to ${redirectUriLimit} addresses`)
  }
  const problem = given.map(findRedirectUriProblem).find((each) => each !== undefined)
  if (problem !== undefined) throw refuse(problem)
  return [...new Set(given)]
}

/** Returns the permitted scopes that the client lists; without a list all of them. */
function readScopes(given: string | undefined, permitted: readonly string[]): readonly string[] {
  if (given === undefined) return permitted
  const scopes = given.split(' ').filter((scope) => isScope(scope) && permitted.includes(scope))
  if (scopes.length === 0) throw invalid(`scope: expected some of ${permitted.join(', ')}`)
  return [...new Set(scopes)]
}

/** Reads a list that has to have this member; absent, it is that alone. */
function requireMember(given: Readonly<Record<string, unknown>>, name: string, member: string) {
  const list = given[name] ?? [member]
  if (!isTextList(list) || !list.includes(member)) throw invalid(`${name}: expected a list with ${member}`)
  return list
}

function readText(given: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const text = given[name] ?? undefined
  if (text !== undefined && typeof text !== 'string') throw invalid(`${name}: expected a text`)
  return text
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

function invalid(problem: string): ProtocolError {
  return new ProtocolError('invalid_client_metadata', problem)
}
