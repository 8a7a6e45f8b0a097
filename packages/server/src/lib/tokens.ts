import { createHash, randomBytes } from 'node:crypto'

/**
 * Characters of opaque tokens: `<prefix><secret><checksum>`, all base62 after the prefix. The checksum lets a
 * secret scanner and the server reject a mistyped token without a query. Only {@link hashToken} is stored.
 */

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretLength = 43 // 256 bits
const checksumLength = 6 // CRC-sized: 62^6 > 2^32

/** Creates a token of 256 bits: random ones, or those of a reproducible secret. */
export function createToken(prefix: string, bits: Buffer = randomBytes(32)): string {
  return sealToken(prefix, encode(BigInt(`0x${bits.toString('hex')}`), secretLength))
}

/** Seals custom content as a token. */
export function sealToken(prefix: string, content: string): string {
  const body = prefix + content
  return body + checksum(body)
}

/** Returns the content of a token with this prefix; undefined when the checksum does not match. */
export function openToken(prefix: string, text: string): string | undefined {
  if (!text.startsWith(prefix) || text.length <= prefix.length + checksumLength) return undefined
  const body = text.slice(0, -checksumLength)
  return checksum(body) === text.slice(-checksumLength) ? body.slice(prefix.length) : undefined
}

/**
 * Returns true if the text has the form and the checksum of a token with this prefix. The token may still be
 * invalid.
 */
export function isToken(prefix: string, text: string): boolean {
  return openToken(prefix, text)?.length === secretLength
}

/**
 * Returns the SHA-256 of a token, which the database stores. A 256-bit random token needs no salt or
 * stretching.
 */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest()
}

function checksum(body: string): string {
  return encode(BigInt(createHash('sha256').update(body, 'utf8').digest().readUInt32BE(0)), checksumLength)
}

function encode(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; rest > 0n; rest /= 62n) text = alphabet.charAt(Number(rest % 62n)) + text
  return text.padStart(length, '0')
}
