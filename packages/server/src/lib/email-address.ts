import { domainToASCII } from 'node:url'

/** RFC 5321 §4.5.3.1, in bytes. */
const localPartLimit = 64
const addressLimit = 254

/**
 * Printable ASCII without blanks, commas, angle brackets and `@`; letters, marks and digits of any script. Dots and
 * quotes stand where they like: who sends mail quotes what needs quoting.
 */
const localPart = /^[!-+\--;=?A-~\p{L}\p{M}\p{N}]+$/u

/** What the conversion to ASCII may see; it would take the text apart as part of a URL otherwise. */
const domainLetters = /^[\p{L}\p{M}\p{N}.-]+$/u
const domainLabel = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/

/**
 * The one spelling of an address that is stored and compared: trimmed, in lower case, the local part in NFC (RFC 6532
 * §3.1), the domain in ASCII
 * (`Bücher@BÜCHER.example` → `bücher@xn--bcher-kva.example`). Compare it as it stands: letters that only look alike
 * make different addresses, and the database's own folding of case would make some of them equal.
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

/** Whether mail can be sent to exactly this text. */
export function isEmailAddress(text: string): boolean {
  return text === text.trim() && normalizeEmail(text) !== undefined
}

/** At least two labels, the last one not a number: no host names of a local network, no IP addresses. */
function asciiDomain(domain: string): string | undefined {
  if (domain.length > addressLimit || !domainLetters.test(domain)) return undefined
  const ascii = domainToASCII(domain)
  const labels = ascii.split('.')
  const isDomain = labels.length > 1 && labels.every((label) => domainLabel.test(label))
  return isDomain && !/^\d+$/.test(labels.at(-1) ?? '') ? ascii : undefined
}

/** Only true pairs: `toLowerCase` alone makes two letters of `İ`, and so of one mailbox another. */
function lowerCase(text: string): string {
  return Array.from(text, (letter) => {
    const lower = letter.toLowerCase()
    return lower.toUpperCase() === letter ? lower : letter
  }).join('')
}
