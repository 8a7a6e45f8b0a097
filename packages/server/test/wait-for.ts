import { setTimeout as delay } from 'node:timers/promises'

const intervalMs = 20

/**
 * Polls until the result is neither undefined, null nor false.
 *
 * @throws Error that names the condition after the time limit
 */
export async function waitFor<Value>(
  what: string,
  condition: () => Value | undefined | null | false | Promise<Value | undefined | null | false>,
  timeoutMs = 60_000,
): Promise<Value> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const value = await condition()
    if (value !== undefined && value !== null && value !== false) return value
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`)
    await delay(intervalMs)
  }
}
