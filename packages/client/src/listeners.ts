/**
 * Calls each listener. A listener that throws stops neither the others nor the caller. Its error is reported like any uncaught
 * error.
 */
export function callEach<Listener>(listeners: Iterable<Listener>, call: (listener: Listener) => void): void {
  for (const listener of [...listeners]) {
    try {
      call(listener)
    } catch (error) {
      report(error)
    }
  }
}

function report(error: unknown): void {
  if (typeof reportError === 'function') reportError(error)
  // Node has no `reportError`.
  else
    queueMicrotask(() => {
      throw error
    })
}
