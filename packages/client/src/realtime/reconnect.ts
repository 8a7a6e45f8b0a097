import { pause } from '../transport.ts'

/** Waits before another attempt, but no longer than until the browser is online again, or the signal is aborted. */
export async function pauseBeforeAttempt(seconds: number, signal: AbortSignal): Promise<void> {
  const ended = new AbortController()
  const end = () => ended.abort()
  if (signal.aborted) end()
  signal.addEventListener('abort', end)
  // Only browsers have this event.
  globalThis.addEventListener?.('online', end)
  await pause(seconds, ended.signal).catch(() => undefined)
  signal.removeEventListener('abort', end)
  globalThis.removeEventListener?.('online', end)
}
