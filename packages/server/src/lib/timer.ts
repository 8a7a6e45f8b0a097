/** Durations and delays, which changes of the wall clock do not touch; tests plug in their own. */
export interface Timer {
  /** Milliseconds since some fixed moment. */
  now(): number
  /** Runs the work later, without keeping the process alive for it. @returns what cancels it */
  after(delayMs: number, work: () => void): () => void
}

export const systemTimer: Timer = {
  now: () => performance.now(),
  after(delayMs, work) {
    const timeout = setTimeout(work, delayMs).unref()
    return () => clearTimeout(timeout)
  },
}
