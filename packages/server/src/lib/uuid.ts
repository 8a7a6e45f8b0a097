import { randomUUID } from 'node:crypto'

/** Pattern of a UUID in either case (RFC 9562 §4). */
export const uuidPattern = '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$'

const form = new RegExp(uuidPattern)

/** Returns true if the text is a UUID as in RFC 9562 §4. */
export function isUuid(text: string): boolean {
  return form.test(text)
}

/**
 * Creates a UUID that begins with the time (version 7, RFC 9562 §5.7). Rows with it are added at the end of an
 * index and not all over it.
 *
 * @param ms since 1970
 */
export function timedUuid(ms: number): string {
  // Variant and random bits are at the same position as in version 4.
  return beginningAt(ms) + randomUUID().slice(15)
}

let latest = { ms: -1, beginning: '' }

/**
 * Returns the first part for a time. Many identifiers are created in a millisecond, so their common part is
 * formatted once.
 */
function beginningAt(ms: number): string {
  if (ms !== latest.ms) {
    const time = ms.toString(16).padStart(12, '0')
    latest = { ms, beginning: `${time.slice(0, 8)}-${time.slice(8)}-7` }
  }
  return latest.beginning
}
