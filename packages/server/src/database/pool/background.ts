import { AsyncLocalStorage } from 'node:async_hooks'

interface Mark {
  isActive: boolean
}

const marks = new AsyncLocalStorage<Mark>()

/**
 * Runs work for which no request waits. It gets only a quota of the system connections, which leaves the others
 * to sign-ins and health checks.
 */
export async function inBackground<Result>(work: () => Promise<Result>): Promise<Result> {
  const mark: Mark = { isActive: true }
  try {
    return await marks.run(mark, work)
  } finally {
    // Timers of loops that outlive the work are not part of it.
    mark.isActive = false
  }
}

export function isInBackground(): boolean {
  return marks.getStore()?.isActive === true
}
