import { createHmac } from 'node:crypto'

/** Prefix of secrets in the format of Standard Webhooks. */
const standardPrefix = 'whsec_'

export interface SignedParts {
  /** Value of `webhook-id`, the same for every attempt. */
  readonly id: string
  /** Time of this attempt. */
  readonly at: Date
  /** Body exactly as it is sent. */
  readonly body: string
}

/**
 * Returns the headers by which a receiver verifies message and sender. Without a secret they identify only the
 * message.
 *
 * @param secrets the current one, and the previous one while that still signs
 */
export function signatureHeaders(
  [secret, previous = secret]: readonly [string | undefined, (string | undefined)?],
  parts: SignedParts,
): Record<string, string> {
  const timestamp = String(Math.floor(parts.at.getTime() / 1000))
  const headers = { 'webhook-id': parts.id, 'webhook-timestamp': timestamp }
  if (secret === undefined) return headers
  const signed = `${parts.id}.${timestamp}.${parts.body}`
  const standard = [...new Set([secret, previous])].map(
    (text = '') => `v1,${createHmac('sha256', standardKey(text)).update(signed).digest('base64')}`,
  )
  return {
    ...headers,
    'x-basalt-signature': createHmac('sha256', secret).update(parts.body).digest('hex'),
    'webhook-signature': standard.join(' '),
  }
}

/** Returns true if the secret has the prefix of the standard's format and is malformed. */
export function isBrokenSecret(secret: string): boolean {
  if (!secret.startsWith(standardPrefix)) return false
  const encoded = secret.slice(standardPrefix.length)
  return encoded === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)
}

/** Returns the key of a secret: `whsec_` and base64, or any text. */
function standardKey(secret: string): Buffer {
  return secret.startsWith(standardPrefix)
    ? Buffer.from(secret.slice(standardPrefix.length), 'base64')
    : Buffer.from(secret, 'utf8')
}
