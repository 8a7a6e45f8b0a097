import { isUtf8 } from 'node:buffer'
import { choice, component } from '../../../http/schemas.ts'
import { isObject } from '../../../lib/json.ts'
import { type TObject, Type } from '../../../lib/type.ts'

/**
 * Client data: the browser's statement about the ceremony (WebAuthn L3 §5.8.1). It is trusted only after its
 * signature is verified.
 */
export interface ClientData {
  readonly type: string
  /** Challenge in base64url. */
  readonly challenge: string
  readonly origin: string
  readonly crossOrigin?: unknown
  readonly topOrigin?: unknown
}

const longest = 8192

/** Maximum length of a credential id: 1023 bytes (WebAuthn L3 §7.1) in base64url. */
export const longestCredentialId = 1364

export const base64url = component('Base64Url', Type.String({ pattern: '^[A-Za-z0-9_-]+$' }))

/** Describes a credential that a browser has made or used. Parsers check it, each part in their order. */
export function credentialOf(description: string, response: TObject) {
  return Type.Object(
    { id: base64url, rawId: Type.Optional(base64url), type: choice(['public-key']), response },
    { description },
  )
}

/** Parses client data. Returns undefined unless it is base64url of JSON in UTF-8 with the required members. */
export function parseClientData(encoded: unknown): ClientData | undefined {
  if (!isBase64url(encoded, longest)) return undefined
  const bytes = Buffer.from(encoded, 'base64url')
  if (!isUtf8(bytes)) return undefined
  try {
    const data: unknown = JSON.parse(bytes.toString('utf8'))
    if (!isObject(data)) return undefined
    const { type, challenge, origin, crossOrigin, topOrigin } = data
    if (typeof type !== 'string' || typeof origin !== 'string') return undefined
    if (!isBase64url(challenge, longest)) return undefined
    return { type, challenge, origin, crossOrigin, topOrigin }
  } catch {
    return undefined
  }
}

/**
 * Returns whether a page of another site frames this one, which then may not use passkeys (WebAuthn L3 §7.1
 * and §7.2, crossOrigin, topOrigin).
 */
export function isFramed({ crossOrigin, topOrigin }: ClientData): boolean {
  return (crossOrigin !== undefined && crossOrigin !== false) || topOrigin !== undefined
}

/** Returns whether a value is unpadded base64url (RFC 4648 §5) of at least one byte, in its one spelling. */
export function isBase64url(value: unknown, longestText: number): value is string {
  return (
    typeof value === 'string' &&
    value.length > 0 &&
    value.length <= longestText &&
    /^[\w-]+$/.test(value) &&
    Buffer.from(value, 'base64url').toString('base64url') === value
  )
}
