import { setTimeout as delay } from 'node:timers/promises'
import { StatementFailed } from '../../../../database/connection/message.ts'
import { isRaised, originOf } from '../../../../database/errors/definition-faults.ts'
import { databaseErrorOf, translateDatabaseFailure } from '../../../../database/errors/error-translation.ts'
import { AppError, codeOf } from '../../../../lib/errors.ts'

/** Milliseconds after which the streams of an undecided event end. Their clients resume. */
const overdueMs = 10_000
/** Milliseconds between two attempts while the database is unavailable. */
const retryMs = 200

/**
 * Returns true if the filter or policy itself causes the error: a value, a name, a type, a privilege, a function’s own
 * error. It fails again when repeated. Locks, timeouts, and a database that is unavailable or full say nothing about
 * it.
 */
export function isUndecidable(error: unknown): boolean {
  if (error instanceof Undecidable || isInapplicable(error)) return true
  const failure = databaseErrorOf(error)
  if (failure === undefined) return false
  return isRaised(failure)
    ? (translateDatabaseFailure(failure)?.status ?? 500) < 500
    : originOf(failure) !== 'state'
}

/** Returns true if a condition no longer applies to its column, which has another type now. */
function isInapplicable(error: unknown): boolean {
  return error instanceof AppError && error.kind === 'invalid_filter'
}

export function sqlStateOf(error: unknown): string | undefined {
  return error instanceof StatementFailed ? error.error.code : codeOf(error)
}

/** Error for a filter that names a missing object. */
export class Undecidable extends Error {}

/** Retries while the database is unavailable. @throws an error that the work itself causes, or that lasts too long */
export async function retryWhileUnavailable<Result>(
  startedAt: number,
  work: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (isUndecidable(error) || performance.now() - startedAt > overdueMs) throw error
      await delay(retryMs, undefined, { ref: false })
    }
  }
}
