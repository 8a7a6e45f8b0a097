import { createHmac } from 'node:crypto'
import { testSecret } from './test-config.ts'

export function base64Url(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
}

export interface JwtParts {
  /** Header as a value, or as the JSON text. */
  readonly header?: unknown
  /** Claims as a value, or as the JSON text. */
  readonly payload: unknown
  readonly secret?: string
  /** Hash of the HMAC. */
  readonly hash?: string
}

/** Forges a JWT with a valid HMAC over any header and claims. */
export function forgeJwt({ header, payload, secret = testSecret, hash = 'sha256' }: JwtParts): string {
  const signed = `${base64Url(header ?? { alg: 'HS256', typ: 'JWT' })}.${base64Url(payload)}`
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`
}
