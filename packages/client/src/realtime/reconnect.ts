import { backoffSeconds, pause } from '../retry.ts'

/**
 * Waits before the next attempt, until the pause ends, the browser is online again or the signal is aborted.
 *
 * @returns number of failures to count from now on: 0 if the browser was offline, as a network needs a moment to work
 */
export async function pauseBeforeAttempt(
  failures: number,
  signal: AbortSignal,
  retryAfterSeconds?: number,
): Promise<number> {
  const ended = new AbortController()
  let isOnlineAgain = false
  const end = () => ended.abort()
  const noteOnline = () => {
    isOnlineAgain = true
    end()
  }
  if (signal.aborted) end()
  signal.addEventListener('abort', end)
  // Only browsers have this event.
  globalThis.addEventListener?.('online', noteOnline)
  await pause(backoffSeconds(failures, retryAfterSeconds), ended.signal).catch(() => undefined)
  signal.removeEventListener('abort', end)
  globalThis.removeEventListener?.('online', noteOnline)
  return isOnlineAgain ? 0 : failures
}
