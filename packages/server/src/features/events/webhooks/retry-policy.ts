import { readRetryAfter } from '../../../lib/retry-after.ts'
import { secondsBeforeRetry } from '../../../lib/retry-policy.ts'

/** Waits of 1, 5 and 25 s. */
const policy = { attempts: 4, delay: 1, delayMax: 25, backoff: 5 } as const

/** A receiver may ask for more time than that, up to this many seconds. */
const longestWait = 300

/**
 * @param attempt the one that failed, 1 for the first
 * @param retryAfter the header of the reply
 * @returns seconds to wait before the next one; undefined when there is none
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
