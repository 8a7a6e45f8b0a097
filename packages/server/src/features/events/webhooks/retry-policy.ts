import { readRetryAfter } from '../../../lib/retry-after.ts'
import { secondsBeforeRetry } from '../../../lib/retry-policy.ts'

/** Retry policy with pauses of 1, 5 and 25 s. */
const policy = { attempts: 4, delay: 1, delayMax: 25, backoff: 5 } as const

/** Maximum seconds that a receiver may request with `Retry-After`. */
const longestWait = 300

/**
 * Returns the pause before the next attempt.
 *
 * @param attempt number of the failed attempt, starting at 1
 * @param retryAfter header of the response
 * @returns seconds to wait; undefined if there is no further attempt
 */
export function secondsToWait(
  attempt: number,
  retryAfter: string | string[] | undefined,
  now: Date,
): number | undefined {
  const wait = secondsBeforeRetry(policy, attempt)
  if (wait === undefined) return undefined
  return Math.max(wait, Math.min(readRetryAfter(retryAfter, now) ?? 0, longestWait))
}
