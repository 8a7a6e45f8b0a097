import { issuerOf, type OAuthContext } from './context.ts'
import { ProtocolError } from './protocol-error.ts'

/**
 * Rejects tokens for other resources (RFC 8707 §2). The whole server is one resource, which is the audience
 * of every token.
 *
 * @throws ProtocolError invalid_target
 */
export function requireOwnResource(
  context: Pick<OAuthContext, 'publicBaseUrl'>,
  resources: readonly string[],
): void {
  const issuer = issuerOf(context)
  const own = new Set([issuer, `${issuer}/`, `${issuer}/api`, `${issuer}/api/`])
  if (!resources.every((resource) => own.has(resource))) {
    throw new ProtocolError('invalid_target', `resource must be ${issuer}`)
  }
}
