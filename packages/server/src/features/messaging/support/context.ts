import type { SystemDatabase } from '../../../database/system-database.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { requireAllowed, type Throttle } from '../../operations/throttle/index.ts'
import { supportErrors } from './errors.ts'

/** Dependencies of the operations of tickets. */
export interface SupportContext {
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly throttle: Throttle
  /** Limit of one user. */
  readonly messagesPerHour: number
  /** Domain in lower case; empty: no mail is accepted. */
  readonly inboundDomain: string
}

/** Counts a message of a user. @throws AppError support_limit_reached */
export async function requireAttempt(
  { throttle, messagesPerHour }: SupportContext,
  userId: string,
): Promise<void> {
  const limit = { name: 'support.message', attempts: messagesPerHour, windowSeconds: 3600 }
  requireAllowed(await throttle.attempt(limit, userId), supportErrors.supportLimitReached())
}
