import { missingStatement, StatementFailed } from '../connection/message.ts'
import { ConnectionLost } from './failures.ts'

/** A serialization failure or a deadlock: nothing happened, another attempt may succeed. */
export const conflictCodes = new Set(['40001', '40P01'])
const conflictAttempts = 4
/** The backend is ending: administrator's command, crash of a sibling, start-up. */
const endingCodes = new Set(['57P01', '57P02', '57P03'])

/** What is attempted. */
interface Attempted {
  /** Whether running it twice is harmless. */
  readonly isRead: boolean
  /** Whether the client has disconnected. */
  readonly isAbandoned?: () => boolean
}

/** @param attempt the number of the one that failed, from 1 */
export function isWorthAnotherAttempt(
  error: unknown,
  attempt: number,
  { isRead, isAbandoned }: Attempted,
): boolean {
  if (isAbandoned?.() === true) return false
  if (error instanceof ConnectionLost) return isRead && attempt === 1
  if (!(error instanceof StatementFailed)) return false
  const code = error.error.code ?? ''
  if (conflictCodes.has(code)) return attempt < conflictAttempts
  if (endingCodes.has(code)) return isRead && attempt === 1
  // The calls of a message share a statement: when its Parse fails for the first, the others find none.
  return code === missingStatement && attempt < conflictAttempts
}
