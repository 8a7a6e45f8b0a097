import { type KeyObject, sign } from 'node:crypto'

/** Signs a JWT with a private key (RFC 7519), which providers accept as proof of the caller. */
export function signJwt(
  algorithm: 'ES256' | 'RS256',
  key: KeyObject,
  claims: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>> = {},
): string {
  const content = [{ alg: algorithm, ...header }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  // RFC 7518 §3.4: a signature is r and s, one after the other; RSA keys ignore the encoding.
  const signature = sign('sha256', Buffer.from(content), { key, dsaEncoding: 'ieee-p1363' })
  return `${content}.${signature.toString('base64url')}`
}
