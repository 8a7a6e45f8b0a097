import { setTimeout as delay } from 'node:timers/promises'

const intervalMs = 20

/**
 * Asks again and again until the answer is neither undefined, null nor false.
 *
 * @throws Error that names what was waited for, when that takes too long
 */
export async function waitFor<Value>(
  what: string,
  ask: () => Value | undefined | null | false | Promise<Value | undefined | null | false>,
  timeoutMs = 60_000,
): Promise<Value> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined && answer !== null && answer !== false) return answer
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`)
    await delay(intervalMs)
  }
}
