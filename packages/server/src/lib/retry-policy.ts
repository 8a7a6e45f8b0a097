/** Number of attempts after failures, and the delays between them. */
export interface RetryPolicy {
  /** Maximum number of attempts, including the first. */
  readonly attempts: number
  /** Seconds before the second attempt. */
  readonly delay: number
  /** Maximum delay in seconds. */
  readonly delayMax: number
  /** Factor from each delay to the next. */
  readonly backoff: number
}

/**
 * Returns the seconds before the next attempt; undefined when there is none.
 *
 * @param attempt number of the failed one, from 1
 */
export function secondsBeforeRetry(
  { attempts, delay, delayMax, backoff }: RetryPolicy,
  attempt: number,
): number | undefined {
  if (attempt >= attempts) return undefined
  return Math.min(delayMax, delay * backoff ** (attempt - 1))
}
