import { createHmac, timingSafeEqual } from 'node:crypto'
import type { InboundRequest, Verify, VerifyContext } from './inbound.ts'

/** Content that a sender has signed. */
export interface SignedContent {
  readonly secret: string | Uint8Array | undefined
  /** Parts that were signed, one after the other. */
  readonly content: readonly (string | Uint8Array)[]
  /** Default: `sha256`. */
  readonly algorithm?: 'sha1' | 'sha256' | 'sha512' | undefined
  /** Encoding of the signature. Default: `hex`. */
  readonly encoding?: 'hex' | 'base64' | undefined
}

/**
 * Returns true if the signature is the HMAC of the content. The comparison takes the same time wherever they differ.
 *
 * @throws Error if the secret is empty or not set, with which anyone could sign
 */
export function isHmac(
  signature: string,
  { secret, content, algorithm = 'sha256', encoding = 'hex' }: SignedContent,
): boolean {
  if (secret === undefined || secret.length === 0) throw new Error('the secret of the signature is not set')
  const hmac = createHmac(algorithm, secret)
  for (const part of content) hmac.update(part)
  const expected = Buffer.from(hmac.digest(encoding))
  const given = Buffer.from(signature)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/**
 * Verifies messages of Stripe: the header `Stripe-Signature`. The id is that of the event.
 *
 * @param secretName name of the secret with the signing secret of the endpoint
 */
export function stripeSignature(secretName: string): Verify {
  return ({ headers, body }, context) => {
    const secret = requireSecret(secretName, context)
    const parts = (headers['stripe-signature'] ?? '').split(',').map((part) => part.trim().split('='))
    const valuesOf = (name: string) => parts.flatMap(([key, value = '']) => (key === name ? [value] : []))
    const [seconds = '', ...others] = valuesOf('t')
    const time = timeOf(seconds)
    if (time === undefined || others.length > 0) return undefined
    const content = [`${seconds}.`, body]
    // There are several while the secret is replaced.
    const isSigned = valuesOf('v1').filter((signature) => isHmac(signature, { secret, content })).length > 0
    if (!isSigned) return undefined
    const id = idOf(body)
    return id === undefined ? undefined : { id, time }
  }
}

/**
 * Verifies messages of Standard Webhooks (https://www.standardwebhooks.com): `webhook-id`, `webhook-timestamp` and
 * `webhook-signature`. Basalt signs its own webhooks in the same way.
 *
 * @param secretName name of the secret: base64 after the prefix `whsec_`, or a text
 */
export function standardWebhookSignature(secretName: string): Verify {
  return ({ headers, body }, context) => {
    const text = requireSecret(secretName, context)
    // Basalt signs its own webhooks with the bytes of a secret without the prefix.
    const secret = text.startsWith('whsec_') ? Buffer.from(text.slice(6), 'base64') : text
    const { 'webhook-id': id, 'webhook-timestamp': seconds = '', 'webhook-signature': list = '' } = headers
    const time = timeOf(seconds)
    if (time === undefined || id === undefined || id === '') return undefined
    const content = [`${id}.${seconds}.`, body]
    const signatures = list.split(' ').flatMap((each) => (each.startsWith('v1,') ? [each.slice(3)] : []))
    const matching = signatures.filter((signature) =>
      isHmac(signature, { secret, content, encoding: 'base64' }),
    )
    return matching.length === 0 ? undefined : { id, time }
  }
}

function requireSecret(name: string, { secrets }: VerifyContext): string {
  const secret = secrets[name]
  if (secret === undefined) throw new Error(`the secret ${name} is not set`)
  return secret
}

/** Reads a time in seconds. */
function timeOf(seconds: string): Date | undefined {
  return /^\d{1,11}$/.test(seconds) ? new Date(Number(seconds) * 1000) : undefined
}

/** Returns the member `id` of a body of JSON. */
function idOf(body: InboundRequest['body']): string | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString())
    const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : undefined
    return typeof id === 'string' && id !== '' ? id : undefined
  } catch {
    return undefined
  }
}
