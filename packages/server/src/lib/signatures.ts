import { timingSafeEqual } from 'node:crypto'

/** Maximum difference in seconds between the time of a signed message and ours. */
const toleranceSeconds = 300

/** Returns true if a time in seconds is that of a message that was just sent. */
export function isFresh(timestamp: unknown, now: Date): boolean {
  const seconds = Number(timestamp)
  return Number.isFinite(seconds) && Math.abs(now.getTime() / 1000 - seconds) <= toleranceSeconds
}

/** Compares signatures in constant time. */
export function isSameSignature(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)]
  return left.length === right.length && timingSafeEqual(left, right)
}
