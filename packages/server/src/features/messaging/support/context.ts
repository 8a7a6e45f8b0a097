import type { SystemDatabase } from '../../../database/system-database.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { requireAllowed, type Throttle } from '../../operations/throttle/index.ts'
import { supportErrors } from './errors.ts'

/** Dependencies of the operations on tickets. */
export interface SupportContext {
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly throttle: Throttle
  /** Maximum number of messages of one user. */
  readonly messagesPerHour: number
  /** Domain in lower case. Empty if no mail is accepted. */
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
