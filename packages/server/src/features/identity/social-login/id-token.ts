import { createPublicKey, verify } from 'node:crypto'
import { parseJson } from '../../../lib/json.ts'
import { type Json, objectOf } from './providers/provider.ts'

/** Tolerated difference between the clocks of provider and server. */
const toleranceSeconds = 30

/**
 * Returns the claims of an id_token that an application sends (OpenID Connect Core §3.1.3.7). Callers compare
 * its audience.
 *
 * @param keys of the issuer, as its JWKS lists them
 * @returns undefined for an id_token that the issuer has not signed, or that has expired
 */
export function verifyIdToken(
  token: string,
  { keys, issuer, now }: { readonly keys: readonly Json[]; readonly issuer: string; readonly now: Date },
): Json | undefined {
  const parts = token.split('.')
  const [header = '', payload = '', signature = ''] = parts
  const { alg, kid } = readPart(header)
  // There is one algorithm, never the token's choice (RFC 8725 §3.1), and only the issuer's keys.
  if (parts.length !== 3 || alg !== 'RS256') return undefined
  const key = keys.find((each) => each.kid === kid && each.kty === 'RSA')
  if (key === undefined) return undefined
  const publicKey = createPublicKey({
    key: { kty: 'RSA', n: String(key.n), e: String(key.e) },
    format: 'jwk',
  })
  const content = Buffer.from(`${header}.${payload}`)
  if (!verify('sha256', content, publicKey, Buffer.from(signature, 'base64url'))) return undefined
  const claims = readPart(payload)
  const seconds = now.getTime() / 1000
  const isCurrent = typeof claims.exp === 'number' && claims.exp + toleranceSeconds > seconds
  return claims.iss === issuer && isCurrent && typeof claims.iat === 'number' && !isOfFuture(claims, now)
    ? claims
    : undefined
}

/** Returns whether an id_token was issued, or becomes valid, in the future. */
export function isOfFuture({ iat, nbf }: Json, now: Date): boolean {
  const latest = now.getTime() / 1000 + toleranceSeconds
  return [iat, nbf].some((claim) => typeof claim === 'number' && claim > latest)
}

function readPart(part: string): Json {
  return objectOf(parseJson(Buffer.from(part, 'base64url').toString('utf8')))
}
