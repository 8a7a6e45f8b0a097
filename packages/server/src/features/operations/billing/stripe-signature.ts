import { createHmac } from 'node:crypto'
import { isFresh, isSameSignature } from '../../../lib/signatures.ts'

/**
 * Verifies `Stripe-Signature: t=…,v1=…`: the hex HMAC-SHA256 of the time, a dot and the bytes of the body.
 * There are several while keys change.
 */
export function isSignedByStripe(header: unknown, body: Buffer, secret: string, now: Date): boolean {
  if (typeof header !== 'string') return false
  const parts = header.split(',').map((part) => part.trim())
  const valuesOf = (name: string) =>
    parts.filter((part) => part.startsWith(`${name}=`)).map((part) => part.slice(name.length + 1))
  const [time = '', ...others] = valuesOf('t')
  if (others.length > 0 || !/^\d+$/.test(time) || !isFresh(time, now)) return false
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest('hex')
  return valuesOf('v1').some((signature) => isSameSignature(signature, expected))
}
