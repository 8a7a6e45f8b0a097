import { createCipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'
import type { WebPushKeys } from './provider.ts'

/** Size of the one record that holds the whole message (RFC 8188 §2). */
const recordSize = 4096

/**
 * Maximum length of a message in bytes (RFC 8291 §4). A push service accepts 4096, of which 86 are the
 * header, 16 the tag, and one ends the record.
 */
export const longestWebPush = 3993

/** Random values that make an encryption unique. Tests fix them. */
export interface EncryptionSeed {
  readonly salt: Buffer
  /** Private key of P-256, 32 bytes. */
  readonly privateKey: Buffer
}

/**
 * Encrypts a message for a browser (RFC 8291 with the content coding `aes128gcm` of RFC 8188).
 *
 * @throws Error when the keys are not keys of P-256
 */
export function encryptWebPush(plain: Buffer, keys: WebPushKeys, seed?: EncryptionSeed): Buffer {
  const receiver = Buffer.from(keys.p256dh, 'base64url')
  const salt = seed?.salt ?? randomBytes(16)
  const ecdh = createECDH('prime256v1')
  if (seed === undefined) ecdh.generateKeys()
  else ecdh.setPrivateKey(seed.privateKey)
  const sender = ecdh.getPublicKey()
  const shared = ecdh.computeSecret(receiver)
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), receiver, sender])
  const input = hkdf(shared, Buffer.from(keys.auth, 'base64url'), info, 32)
  const key = hkdf(input, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
  const nonce = hkdf(input, salt, Buffer.from('Content-Encoding: nonce\0'), 12)
  const cipher = createCipheriv('aes-128-gcm', key, nonce)
  // The byte 2 ends the last record.
  const record = Buffer.concat([
    cipher.update(plain),
    cipher.update(Buffer.of(2)),
    cipher.final(),
    cipher.getAuthTag(),
  ])
  const size = Buffer.alloc(4)
  size.writeUInt32BE(recordSize)
  return Buffer.concat([salt, size, Buffer.of(sender.length), sender, record])
}

function hkdf(secret: Buffer, salt: Buffer, info: Buffer, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, info, length))
}

/** Returns the problem of a subscription's keys, if there is one. */
export function findKeysProblem({ p256dh, auth }: WebPushKeys): string | undefined {
  if (Buffer.from(auth, 'base64url').length !== 16) return 'keys.auth: expected 16 bytes as base64url'
  try {
    const ecdh = createECDH('prime256v1')
    ecdh.generateKeys()
    // This call rejects a point that is not on the curve.
    ecdh.computeSecret(Buffer.from(p256dh, 'base64url'))
    return undefined
  } catch {
    return 'keys.p256dh: expected a public key of P-256 as base64url'
  }
}
