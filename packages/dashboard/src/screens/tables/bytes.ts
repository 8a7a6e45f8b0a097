/* Functions for bytes as PostgreSQL prints them, and for their type. All are pure. */

export function parseHex(text: string): Uint8Array<ArrayBuffer> {
  const digits = text.startsWith('\\x') ? text.slice(2) : text
  const bytes = new Uint8Array(digits.length >> 1)
  for (let index = 0; index < bytes.length; index += 1) {
    bytes[index] = Number.parseInt(digits.slice(index * 2, index * 2 + 2), 16)
  }
  return bytes
}

export function formatHex(bytes: Uint8Array): string {
  const parts: string[] = []
  for (const byte of bytes) parts.push(byte.toString(16).padStart(2, '0'))
  return `\\x${parts.join('')}`
}

/** Image types that a browser shows without running anything. SVG and HTML are not among them. */
const signatures: readonly (readonly [type: string, offset: number, bytes: string])[] = [
  ['image/png', 0, '89504e470d0a1a0a'],
  ['image/jpeg', 0, 'ffd8ff'],
  ['image/gif', 0, '474946383961'],
  ['image/gif', 0, '474946383761'],
  ['image/webp', 8, '57454250'],
  ['image/avif', 4, '6674797061766966'],
]

/**
 * Detects an image type from the first bytes, ignoring names and other columns. Returns undefined for anything that is not
 * shown as an image.
 */
export function sniffPicture(bytes: Uint8Array): string | undefined {
  const start = formatHex(bytes.subarray(0, 16)).slice(2)
  return signatures.find(([, offset, digits]) => start.startsWith(digits, offset * 2))?.[0]
}

/** Decodes UTF-8. Returns undefined if the bytes are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

/** Returns true for HTML or SVG, which is shown without running it. */
export const isMarkup = (text: string) => /^\s*(<!doctype html|<html|<svg|<\?xml)/i.test(text)
