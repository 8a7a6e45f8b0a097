import { PoolExhausted } from '../errors/failures.ts'
import type { SubjectQueue, WaitingEntry } from './subject-queue.ts'

export interface WaitingLimits {
  /** Maximum number of waiting entries. Further ones are rejected at once. */
  readonly waitingLimit: number
  /** Maximum wait of an entry, in milliseconds. */
  readonly acquireTimeoutMs: number
}

/**
 * Fraction of the acquire timeout that an entry may expect to wait. The rest is for the work itself, and for a
 * queue that slows down.
 */
const expectedFraction = 0.8

/**
 * Returns the error for an entry that may not wait: the queue is full, or the entry would not be served in
 * time.
 */
export function refusalOf(
  queue: Pick<SubjectQueue<WaitingEntry>, 'length' | 'expectedWaitMs'>,
  subject: string | undefined,
  { waitingLimit, acquireTimeoutMs }: WaitingLimits,
): PoolExhausted | undefined {
  const waitMs = queue.expectedWaitMs(subject)
  if (queue.length >= waitingLimit) {
    return new PoolExhausted('too many requests wait for the database', waitMs)
  }
  if (waitMs === undefined || waitMs <= acquireTimeoutMs * expectedFraction) return undefined
  return new PoolExhausted('no database connection would become free in time', waitMs)
}
