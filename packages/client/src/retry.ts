import type { BasaltError } from './errors.ts'

/** Longest pause before an automatic retry, in seconds. Longer pauses are left to the caller. */
const longestPauseSeconds = 30

/** Starts a timer of at most 24 days. A longer delay would overflow and fire at once. */
export const startTimer = (ended: () => void, ms: number) => setTimeout(ended, Math.min(ms, 2 ** 31 - 1))

/** Errors with status 503 that last until an operator installs or enables a component. */
const permanentErrors: ReadonlySet<string> = new Set([
  'images_unavailable',
  'jobs_disabled',
  'push_disabled',
  'query_statistics_unavailable',
])

/** @internal Returns true if another attempt may succeed. */
export function isRetryable({ error, status, retryAfterSeconds = 0 }: BasaltError): boolean {
  if (retryAfterSeconds > longestPauseSeconds || permanentErrors.has(error)) return false
  return (
    error === 'network_error' ||
    error === 'timeout' ||
    error === 'idempotency_key_in_use' ||
    [502, 503, 504].includes(status) ||
    // Without a `Retry-After` header the caller decides when to retry.
    (status === 429 && retryAfterSeconds > 0)
  )
}

/**
 * Returns the pause before a retry, in seconds. It doubles with each attempt and has jitter, so that clients that were
 * disconnected together do not reconnect together.
 *
 * @param retryAfterSeconds `Retry-After` of the server. It only lengthens the pause, because it may be 0 or a date in the past.
 */
export function backoffSeconds(number: number, retryAfterSeconds = 0): number {
  const seconds = Math.min(30, 0.2 * 2 ** number) * (0.5 + Math.random() / 2)
  return Math.max(seconds, retryAfterSeconds)
}

/** Pauses of a request's retries, limited by time and number. */
export interface RetryBudget {
  /**
   * Returns the pause before the next attempt, in seconds, or undefined if there is no attempt left.
   * @param retryAfterSeconds `Retry-After` of the server
   */
  take(retryAfterSeconds?: number): number | undefined
}

/** Number of the longest pause: 1.6 to 3.2 seconds. A server that restarts is used soon after its start. */
const longestBackoff = 4

/** @internal Creates a budget. Its time starts with the first failure, however long the first attempt took. */
export function createRetryBudget(ms: number, retries: number): RetryBudget {
  let number = 0
  let endsAt: number | undefined
  return {
    take(retryAfterSeconds = 0) {
      const now = performance.now()
      endsAt ??= now + ms
      const left = (endsAt - now) / 1000
      if (left <= 0 || retryAfterSeconds > left || !(number < retries)) return undefined
      number += 1
      // The last attempt is at the end of the time.
      return Math.min(left, backoffSeconds(Math.min(number, longestBackoff), retryAfterSeconds))
    },
  }
}

/** Waits for a number of seconds. @throws the abort reason of the signal */
export async function pause(seconds: number, signal?: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason)
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = startTimer(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, seconds * 1000)
    signal?.addEventListener('abort', abort, { once: true })
  })
}
