import { missingStatement, StatementFailed } from '../connection/message.ts'
import { isStaleRead } from '../distributed/stale-read.ts'
import { connectionFailure } from '../distributed/worker-failures.ts'
import { ConnectionLost } from './failures.ts'

/** SQLSTATEs of a serialization failure and a deadlock. Nothing happened, and another attempt may succeed. */
export const conflictCodes = new Set(['40001', '40P01'])
/** The same with lock_not_available, for statements with a timeout for locks. */
export const lockCodes: ReadonlySet<string> = new Set([...conflictCodes, '55P03'])
const conflictAttempts = 4
/**
 * SQLSTATEs of a backend that ends: administrator's command, crash of a sibling, start-up. A worker's connection, which
 * the coordinator keeps, is lost when the worker restarts.
 */
const endingCodes = new Set(['57P01', '57P02', '57P03', connectionFailure])

/** Attempt that may be repeated. */
interface Attempt {
  /** True if running it twice is harmless. */
  readonly isRead: boolean
  /** Returns true if the client has disconnected. */
  readonly isAbandoned?: () => boolean
  /** True if a failure is followed by an attempt on another server, which may succeed at once. */
  readonly hasAlternative?: boolean
}

/** Returns true if another attempt may succeed. @param attempt number of the failed one, from 1 */
export function isWorthAnotherAttempt(
  error: unknown,
  attempt: number,
  { isRead, isAbandoned, hasAlternative = false }: Attempt,
): boolean {
  if (isAbandoned?.() === true) return false
  if (hasAlternative && !isMissingStatement(error)) return false
  if (error instanceof ConnectionLost) return isRead && attempt === 1
  if (!(error instanceof StatementFailed)) return false
  const code = error.error.code ?? ''
  if (conflictCodes.has(code) || isStaleRead(error.error)) return attempt < conflictAttempts
  if (endingCodes.has(code)) return isRead && attempt === 1
  // The calls of a message share a statement. When its Parse fails for the first, it is missing for the others.
  return isMissingStatement(error) && attempt < conflictAttempts
}

function isMissingStatement(error: unknown): boolean {
  return error instanceof StatementFailed && error.error.code === missingStatement
}
