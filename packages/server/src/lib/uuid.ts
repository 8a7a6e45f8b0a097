import { randomUUID } from 'node:crypto'

/** Text form of a UUID, in either case (RFC 9562 §4). */
export const uuidPattern = '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$'

const form = new RegExp(uuidPattern)

/** Returns whether the text is a UUID as RFC 9562 §4 writes it. */
export function isUuid(text: string): boolean {
  return form.test(text)
}

/**
 * A UUID that begins with the time (version 7, RFC 9562 §5.7), so that rows with it are added at the end of an index and
 * not all over it.
 *
 * @param ms since 1970
 */
export function timedUuid(ms: number): string {
  // Variant and random bits are where version 4 has them.
  return beginningAt(ms) + randomUUID().slice(15)
}

let latest = { ms: -1, beginning: '' }

/** Many identifiers are made in a millisecond: what they have in common is written once. */
function beginningAt(ms: number): string {
  if (ms !== latest.ms) {
    const time = ms.toString(16).padStart(12, '0')
    latest = { ms, beginning: `${time.slice(0, 8)}-${time.slice(8)}-7` }
  }
  return latest.beginning
}
