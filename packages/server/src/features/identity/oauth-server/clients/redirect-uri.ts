import { component } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'

/** Origin with any port, even one with leading zeros (RFC 3986 §3.2.3). A port over 65535 is invalid. */
const loopback = /^http:\/\/(localhost|127\.0\.0\.1)(?::\d+)?(?=\/|$)/
const lengthLimit = 2048

/** Pattern of a redirect address, for the API document. */
export const RedirectUri = component(
  'RedirectUri',
  Type.String({
    format: 'uri',
    pattern: '^(https://[^/?#*@]+|http://(localhost|127\\.0\\.0\\.1)(:[0-9]{1,5})?)(/[^?#*@]*)?$',
    maxLength: lengthLimit,
  }),
)

/** Returns the problem with a redirect address of a client. */
export function findRedirectUriProblem(uri: string): string | undefined {
  if (uri.length > lengthLimit || !/^[!-~]+$/.test(uri) || uri.includes('\\') || !URL.canParse(uri)) {
    return `invalid redirect URI: ${uri.slice(0, 200)}`
  }
  if (uri.includes('?')) return `redirect URI must not contain query parameters: ${uri}`
  if (uri.includes('#')) return `redirect URI must not contain fragment: ${uri}`
  if (uri.includes('*')) return `redirect URI must not contain wildcard: ${uri}`
  const { protocol, username, password } = new URL(uri)
  if (protocol !== 'http:' && protocol !== 'https:')
    return `redirect URI must use http or https scheme: ${uri}`
  if (!/^https?:\/\/[^/]/i.test(uri) || username !== '' || password !== '' || uri.includes('@')) {
    return `invalid redirect URI: ${uri}`
  }
  if (protocol === 'http:' && !isLoopbackRedirect(uri))
    return `HTTPS required for non-localhost redirect URI: ${uri}`
  return undefined
}

/** Returns whether an address belongs to a native app (RFC 8252 §7.3). */
export function isLoopbackRedirect(uri: string): boolean {
  return loopback.test(uri) && URL.canParse(uri)
}

/**
 * Returns whether an address is a registered one, character by character (RFC 9700 §2.1). The port of a
 * loopback address may differ, since a native app cannot know it in advance (RFC 8252 §7.3).
 */
export function isRegistered(registered: readonly string[], uri: string): boolean {
  if (registered.includes(uri)) return true
  const portless = withoutPort(uri)
  return portless !== undefined && registered.some((each) => withoutPort(each) === portless)
}

function withoutPort(uri: string): string | undefined {
  return isLoopbackRedirect(uri) ? uri.replace(loopback, 'http://$1') : undefined
}
