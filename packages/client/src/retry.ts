import type { BasaltError } from './errors.ts'

/** A server that wants a longer one is left to the caller. */
const longestPauseSeconds = 30

/** At most for 24 days: longer ones would end at once. */
export const startTimer = (ended: () => void, ms: number) => setTimeout(ended, Math.min(ms, 2 ** 31 - 1))

/** Answered with 503 until an operator installs or switches on what is missing. */
const lasting: ReadonlySet<string> = new Set([
  'images_unavailable',
  'jobs_disabled',
  'push_disabled',
  'query_statistics_unavailable',
])

/** @internal Whether another attempt may fare better. */
export function isPassing({ error, status, retryAfterSeconds = 0 }: BasaltError): boolean {
  if (retryAfterSeconds > longestPauseSeconds || lasting.has(error)) return false
  return (
    error === 'network_error' ||
    error === 'timeout' ||
    error === 'idempotency_key_in_use' ||
    [502, 503, 504].includes(status) ||
    // Without a time to wait for it is the caller's to say when.
    (status === 429 && retryAfterSeconds > 0)
  )
}

/**
 * Doubling, with jitter: clients that were cut off together must not reconnect together.
 *
 * @param retryAfterSeconds what the server asks for, which only lengthens the pause: it may be 0, or a date that is past
 */
export function backoffSeconds(number: number, retryAfterSeconds = 0): number {
  const seconds = Math.min(30, 0.2 * 2 ** number) * (0.5 + Math.random() / 2)
  return Math.max(seconds, retryAfterSeconds)
}

/** @throws the reason of the signal */
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
