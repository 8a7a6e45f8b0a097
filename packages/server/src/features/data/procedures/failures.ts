import type { DatabaseFunction } from '../../../database/catalog/model.ts'
import type { StatementFailed } from '../../../database/connection/message.ts'
import {
  definitionError,
  isDefinitionFault,
  isRaised,
  translateDatabaseFailure,
} from '../../../database/errors/error-translation.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { AppError } from '../../../lib/errors.ts'
import { ambiguous } from './resolve.ts'

export interface FailureContext {
  readonly called: DatabaseFunction
  /** All of its name. */
  readonly overloads: readonly DatabaseFunction[]
  readonly isReadOnly: boolean
  /** Whether errors of the function itself carry the text of PostgreSQL. */
  readonly showsText: boolean
}

/**
 * The error to answer when a call has failed. What RAISE says reaches the client: the message of P0001, of PTxyz and of
 * codes that mean nothing else, and with any code HINT and DETAIL. A data exception is of the arguments; what else fails
 * in a function is a fault of its definition.
 */
export function explainFailure(failure: StatementFailed, context: FailureContext): AppError | undefined {
  const { error } = failure
  const { code = '' } = error
  if (isRaised(error)) return explainRaised(failure)
  if (code === '25006' && context.isReadOnly) return writesByPost().with({ cause: error })
  // Of this call, not of one in the function: PostgreSQL chooses by types alone, so that defaults may make overloads equal.
  if (code === '42725' && error.where === undefined) return ambiguous(context.overloads)
  const isOfArguments = code.startsWith('22')
  if (!isOfArguments && isDefinitionFault(error)) {
    return definitionError(error, context.called.procedure, context.showsText)
  }
  return translateDatabaseFailure(failure)
}

/** A function that writes, or may, is not called by GET. */
export function writesByPost(): AppError {
  return httpErrors.methodNotAllowed('GET', 'POST').with({ headers: { allow: 'POST' } })
}

function explainRaised(failure: StatementFailed): AppError | undefined {
  const { error } = failure
  const status = statusOf(error)
  const answer =
    status === undefined
      ? translateDatabaseFailure(failure)
      : new AppError('raised', status, error.message, { cause: error })
  if (answer === undefined || answer.status >= 500) return answer
  const data = {
    ...answer.extras.data,
    ...(answer.message.includes(error.message) ? {} : { message: error.message }),
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(error.detail === undefined ? {} : { detail: error.detail }),
  }
  return Object.keys(data).length === 0 ? answer : answer.with({ data })
}

/** The convention of PostgREST: `PT402` is the status 402. */
function statusOf({ code = '' }: StatementFailed['error']): number | undefined {
  const [, status] = /^PT([45]\d\d)$/.exec(code) ?? []
  return status === undefined ? undefined : Number(status)
}
