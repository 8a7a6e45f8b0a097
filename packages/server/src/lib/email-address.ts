import { domainToASCII } from 'node:url'

/** Length limits of RFC 5321 §4.5.3.1, in bytes. */
const localPartLimit = 64
const addressLimit = 254

/**
 * Pattern of the local part: printable ASCII without blanks, commas, angle brackets and `@`, and letters, marks
 * and digits of any script. Dots and quotes may be at any position, because the sender of a mail quotes where
 * necessary.
 */
const localPart = /^[!-+\--;=?A-~\p{L}\p{M}\p{N}]+$/u

/**
 * Pattern of domains that may be converted to ASCII. Other characters would split the text into parts of a URL.
 */
const domainLetters = /^[\p{L}\p{M}\p{N}.-]+$/u
const domainLabel = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/

/**
 * Returns the canonical spelling of an address, which is stored and compared. It is trimmed and in lower case,
 * with the local part in NFC (RFC 6532 §3.1) and the domain in ASCII (`Bücher@BÜCHER.example` →
 * `bücher@xn--bcher-kva.example`). Compare it byte by byte: letters that merely look alike make different
 * addresses, and the database's own case folding would make some of them equal.
 *
 * @returns undefined when mail cannot be sent to it
 */
export function normalizeEmail(text: string): string | undefined {
  const [given, domain, ...more] = text.trim().split('@')
  const local = given === undefined ? undefined : lowerCase(given.normalize('NFC')).normalize('NFC')
  if (local === undefined || domain === undefined || more.length > 0) return undefined
  if (!localPart.test(local) || Buffer.byteLength(local) > localPartLimit) return undefined
  const ascii = asciiDomain(domain)
  if (ascii === undefined) return undefined
  const address = `${local}@${ascii}`
  return Buffer.byteLength(address) <= addressLimit ? address : undefined
}

/** Returns true if mail can be sent to exactly this text. */
export function isEmailAddress(text: string): boolean {
  return text === text.trim() && normalizeEmail(text) !== undefined
}

/**
 * Converts a domain to ASCII. It needs at least two labels, the last one not a number: host names of a local
 * network and IP addresses are rejected.
 */
function asciiDomain(domain: string): string | undefined {
  if (domain.length > addressLimit || !domainLetters.test(domain)) return undefined
  const ascii = domainToASCII(domain)
  const labels = ascii.split('.')
  const isDomain = labels.length > 1 && labels.every((label) => domainLabel.test(label))
  return isDomain && !/^\d+$/.test(labels.at(-1) ?? '') ? ascii : undefined
}

/**
 * Converts true case pairs only. `toLowerCase` alone turns `İ` into two letters, and so one mailbox into
 * another.
 */
function lowerCase(text: string): string {
  return Array.from(text, (letter) => {
    const lower = letter.toLowerCase()
    return lower.toUpperCase() === letter ? lower : letter
  }).join('')
}
