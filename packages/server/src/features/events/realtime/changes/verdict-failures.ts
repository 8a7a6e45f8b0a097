import { setTimeout as delay } from 'node:timers/promises'
import { StatementFailed } from '../../../../database/connection/message.ts'
import { codeOf } from '../../../../lib/errors.ts'

/** What is not decided after this time ends the streams concerned; their clients resume. */
const overdueMs = 10_000
/** Between two attempts while the database is unavailable. */
const retryMs = 200

/**
 * Classes of SQLSTATE that blame the statement: a value, a name, a type, a privilege, a function's own error. It fails
 * again when it is repeated. All others (locks, timeouts, a database that is unavailable or full) say nothing about it.
 */
const faultyClasses = new Set(['0A', '20', '21', '22', '23', '2F', '38', '39', '3F', '42', '44', 'P0', 'XX'])

/** Whether a filter or policy itself is at fault. */
export function isUndecidable(error: unknown): boolean {
  if (error instanceof Undecidable) return true
  const state = sqlStateOf(error)
  return state?.length === 5 && faultyClasses.has(state.slice(0, 2))
}

export function sqlStateOf(error: unknown): string | undefined {
  return error instanceof StatementFailed ? error.error.code : codeOf(error)
}

/** A filter names what no longer exists. */
export class Undecidable extends Error {}

/** Retries while the database is unavailable. @throws what is at fault itself, or fails for too long */
export async function retryWhileUnavailable<Result>(
  begunAt: number,
  work: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (isUndecidable(error) || performance.now() - begunAt > overdueMs) throw error
      await delay(retryMs, undefined, { ref: false })
    }
  }
}
