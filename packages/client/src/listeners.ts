/** Calls each. One that throws must neither stop the others nor what calls them; its error is reported like any uncaught one. */
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
  // Node has none.
  else
    queueMicrotask(() => {
      throw error
    })
}
