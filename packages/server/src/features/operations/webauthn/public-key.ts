import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { webauthnHelpers } from './library.ts'

/** Labels of a COSE_Key (RFC 9053 §2 and §7, RFC 8230 §4). */
const labels = { kty: 1, alg: 3, first: -1, second: -2, third: -3 }

/**
 * Rejects a key that cannot verify signatures: with an algorithm other than the offered ones, incomplete, or
 * off its curve (WebAuthn L3 §5.8.5). A passkey with such a key would lock its user out.
 *
 * @throws Error for the log
 */
export function requireUsableKey(publicKey: Uint8Array): void {
  const jwk = toJwk(webauthnHelpers().decodeCredentialPublicKey(new Uint8Array(publicKey)) as unknown)
  if (jwk === undefined) throw new Error('the public key does not fit its algorithm')
  const { asymmetricKeyDetails } = createPublicKey({ key: jwk, format: 'jwk' })
  if ((asymmetricKeyDetails?.modulusLength ?? 2048) < 2048) throw new Error('the RSA key is too short')
}

/** Returns the algorithm of a key (RFC 9052 §7.1). */
export function algorithmOf(publicKey: Uint8Array): unknown {
  const key = webauthnHelpers().decodeCredentialPublicKey(new Uint8Array(publicKey)) as unknown
  return key instanceof Map ? key.get(labels.alg) : undefined
}

function toJwk(key: unknown): JsonWebKey | undefined {
  if (!(key instanceof Map)) return undefined
  const [kty, alg, first, second, third] = Object.values(labels).map((label): unknown => key.get(label))
  const [x, y] = [encode(second), encode(third)]
  if (kty === 2 && alg === -7 && first === 1 && x !== undefined && y !== undefined) {
    return { kty: 'EC', crv: 'P-256', x, y }
  }
  if (kty === 1 && alg === -8 && first === 6 && x !== undefined) return { kty: 'OKP', crv: 'Ed25519', x }
  const n = encode(first)
  return kty === 3 && alg === -257 && n !== undefined && x !== undefined ? { kty: 'RSA', n, e: x } : undefined
}

function encode(value: unknown): string | undefined {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64url') : undefined
}
