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

/**
 * Runs the work unless what is waited for comes within the delay and cancels it. To a process that was busy throughout
 * the delay nothing is late before it has read what came meanwhile: Node runs due timers before it reads sockets.
 *
 * @returns what cancels it
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
