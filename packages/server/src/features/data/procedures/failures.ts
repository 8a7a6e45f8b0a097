import type { DatabaseFunction } from '../../../database/catalog/model.ts'
import type { StatementFailed } from '../../../database/connection/message.ts'
import {
  definitionError,
  isMissingPrivilege,
  isRaised,
  originOf,
} from '../../../database/errors/definition-faults.ts'
import { translateDatabaseFailure } from '../../../database/errors/error-translation.ts'
import { databaseErrors } from '../../../database/errors/errors.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import type { AppError } from '../../../lib/errors.ts'
import { ambiguous } from './resolve.ts'

export interface FailureContext {
  readonly called: DatabaseFunction
  /** All of its name. */
  readonly overloads: readonly DatabaseFunction[]
  readonly isReadOnly: boolean
  /** Whether errors of the function itself carry the text of PostgreSQL. */
  readonly showsText: boolean
  /** The error of an argument, or of a condition on the rows, that fails by itself as the call did. */
  readonly findFaultOfRequest: () => Promise<AppError | undefined>
}

/**
 * The error to answer when a call has failed. A data exception in the function is answered as one of its arguments, since a
 * function works on what the client sent, but without PostgreSQL's text, which may quote a row that the caller must not see.
 * What else fails in a function is a fault of its definition.
 */
export async function explainFailure(
  failure: StatementFailed,
  context: FailureContext,
): Promise<AppError | undefined> {
  const { error } = failure
  const { code = '' } = error
  const { called, overloads, isReadOnly, showsText, findFaultOfRequest } = context
  if (isRaised(error)) return translateDatabaseFailure(failure)
  if (code === '25006' && isReadOnly) return writesByPost().with({ cause: error })
  // Of this call, not of one in the function: PostgreSQL chooses by types alone, so that defaults may make overloads equal.
  if (code === '42725' && error.where === undefined) return ambiguous(overloads)
  // The function works with the rights of its caller.
  if (isMissingPrivilege(error)) return databaseErrors.insufficientPermissions().with({ cause: error })
  const origin = originOf(error)
  if (origin === 'request' || origin === 'state') return translateDatabaseFailure(failure)
  const fault = origin === 'unplaced' ? await findFaultOfRequest() : undefined
  if (fault !== undefined) return fault
  const definition = definitionError(error, called.procedure, showsText)
  if (!code.startsWith('22')) return definition
  const { data } = definition.extras
  return databaseErrors
    .invalidValue(`function "${called.procedure}" cannot work with these arguments (SQLSTATE ${code})`)
    .with({ ...(showsText && data !== undefined ? { data } : {}), cause: error })
}

/** A function that writes, or may, is not called by GET. */
export function writesByPost(): AppError {
  return httpErrors.methodNotAllowed('GET', 'POST').with({ headers: { allow: 'POST' } })
}
