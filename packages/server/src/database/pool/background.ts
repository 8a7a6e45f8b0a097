import { AsyncLocalStorage } from 'node:async_hooks'

interface Mark {
  isActive: boolean
}

const marks = new AsyncLocalStorage<Mark>()

/**
 * Runs work that no request waits for: a quota of the system's connections is all it gets, and the rest is left to
 * sign-in and health.
 */
export async function inBackground<Result>(work: () => Promise<Result>): Promise<Result> {
  const mark: Mark = { isActive: true }
  try {
    return await marks.run(mark, work)
  } finally {
    // Timers that the work has set, of loops which outlive it, are not part of it.
    mark.isActive = false
  }
}

export function isInBackground(): boolean {
  return marks.getStore()?.isActive === true
}
