import { createHmac } from 'node:crypto'

/** What Standard Webhooks calls its own form of secrets. */
const standardPrefix = 'whsec_'

export interface SignedParts {
  /** `webhook-id`, the same for every attempt. */
  readonly id: string
  /** When this attempt is made. */
  readonly at: Date
  /** Exactly what is sent. */
  readonly body: string
}

/**
 * The headers that let a receiver know message and sender; without a secret only the message.
 *
 * @param secrets the one in force, and the one before it while that still signs
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

/** Whether the secret claims to be of the standard's form and is not. */
export function isBrokenSecret(secret: string): boolean {
  if (!secret.startsWith(standardPrefix)) return false
  const encoded = secret.slice(standardPrefix.length)
  return encoded === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)
}

/** `whsec_` and base64, or any text. */
function standardKey(secret: string): Buffer {
  return secret.startsWith(standardPrefix)
    ? Buffer.from(secret.slice(standardPrefix.length), 'base64')
    : Buffer.from(secret, 'utf8')
}
