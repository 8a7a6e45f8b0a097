/** Seconds between an attempt that failed and the next one. */
const waits = [1, 5, 25] as const

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
  const wait = waits[attempt - 1]
  if (wait === undefined) return undefined
  return Math.max(wait, Math.min(readRetryAfter(retryAfter, now) ?? 0, longestWait))
}

/** RFC 9110 §10.2.3: seconds or a date. */
function readRetryAfter(value: string | string[] | undefined, now: Date): number | undefined {
  if (typeof value !== 'string') return undefined
  if (/^\d{1,9}$/.test(value.trim())) return Number(value)
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.ceil((date - now.getTime()) / 1000)
}
