/** Source of durations and delays, which are independent of the wall clock; tests inject their own. */
export interface Timer {
  /** Returns the milliseconds since some fixed moment. */
  now(): number
  /** Runs the work later, without keeping the process alive for it. @returns a function that cancels it */
  after(delayMs: number, work: () => void): () => void
}

export const systemTimer: Timer = {
  now: () => performance.now(),
  after(delayMs, work) {
    const timeout = setTimeout(work, delayMs).unref()
    return () => clearTimeout(timeout)
  },
}

/**
 * Runs the work unless an event within the delay cancels it. In a process that was blocked throughout the
 * delay, nothing is late before it has read its sockets. Node runs due timers before it reads them.
 *
 * @returns a function that cancels it
 */
export function whenLate(delayMs: number, work: () => void, timer: Timer = systemTimer): () => void {
  let isCancelled = false
  const cancel = timer.after(delayMs, () => {
    setImmediate(() => {
      if (!isCancelled) work()
    })
  })
  return () => {
    isCancelled = true
    cancel()
  }
}
