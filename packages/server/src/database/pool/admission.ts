import { PoolExhausted } from '../errors/failures.ts'
import type { SubjectQueue, WaitingEntry } from './subject-queue.ts'

export interface WaitingLimits {
  /** Entries that may wait; further ones are refused at once. */
  readonly waitingLimit: number
  /** Milliseconds an entry waits. */
  readonly acquireTimeoutMs: number
}

/**
 * Part of the acquire timeout that an entry may expect to wait. The rest is for the work itself, and for a queue that is
 * served more slowly than it was.
 */
const expectedShare = 0.8

/** Returns why an entry may not wait, if so: the queue is full, or the entry would not be served in time. */
export function refusalOf(
  queue: Pick<SubjectQueue<WaitingEntry>, 'length' | 'expectedWaitMs'>,
  subject: string | undefined,
  { waitingLimit, acquireTimeoutMs }: WaitingLimits,
): PoolExhausted | undefined {
  const waitMs = queue.expectedWaitMs(subject)
  if (queue.length >= waitingLimit) {
    return new PoolExhausted('too many requests wait for the database', waitMs)
  }
  if (waitMs === undefined || waitMs <= acquireTimeoutMs * expectedShare) return undefined
  return new PoolExhausted('no database connection would become free in time', waitMs)
}
