/** How often something that fails is tried, and how long each attempt waits for the one before. */
export interface RetryPolicy {
  /** The first included. */
  readonly attempts: number
  /** Seconds before the second attempt. */
  readonly delay: number
  /** Seconds that no pause exceeds. */
  readonly delayMax: number
  /** What each pause is multiplied by for the next one. */
  readonly backoff: number
}

/**
 * @param attempt the one that failed, 1 for the first
 * @returns seconds before the next one; undefined when there is none
 */
export function secondsBeforeRetry(
  { attempts, delay, delayMax, backoff }: RetryPolicy,
  attempt: number,
): number | undefined {
  if (attempt >= attempts) return undefined
  return Math.min(delayMax, delay * backoff ** (attempt - 1))
}
