import { createHash, randomBytes } from 'node:crypto'

/**
 * Opaque tokens: `<prefix><secret><checksum>`, all base62 behind the prefix. The checksum lets a secret scanner
 * and the server refuse a mistyped token without a query. Only {@link hashToken} is stored.
 */

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretLength = 43 // 256 bits
const checksumLength = 6 // CRC-sized: 62^6 > 2^32

/** A new token of 256 bits: random ones, or those of a secret that can be made again. */
export function createToken(prefix: string, bits: Buffer = randomBytes(32)): string {
  return sealToken(prefix, encode(BigInt(`0x${bits.toString('hex')}`), secretLength))
}

/** A token of a content of one's own. */
export function sealToken(prefix: string, content: string): string {
  const body = prefix + content
  return body + checksum(body)
}

/** The content of a token with this prefix; undefined when the checksum says that it was mistyped. */
export function openToken(prefix: string, text: string): string | undefined {
  if (!text.startsWith(prefix) || text.length <= prefix.length + checksumLength) return undefined
  const body = text.slice(0, -checksumLength)
  return checksum(body) === text.slice(-checksumLength) ? body.slice(prefix.length) : undefined
}

/** Whether the text has the form and the checksum of a token with this prefix. Says nothing of its validity. */
export function isToken(prefix: string, text: string): boolean {
  return openToken(prefix, text)?.length === secretLength
}

/** SHA-256 of a token: what the database stores. A 256-bit random token needs no salt or stretching. */
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
