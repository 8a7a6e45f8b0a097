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
import type { UserDatabase } from '../../../database/user-database.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import type { AppError } from '../../../lib/errors.ts'
import {
  type Caller,
  fill,
  findConditionFault,
  firstFailure,
  type ListPlan,
  type StatementCache,
} from '../collections/index.ts'
import { argumentsSlot, compileArgumentChecks } from './compile.ts'
import { ambiguous, type Target } from './resolve.ts'

/** Call that failed. */
export interface FailedCall {
  readonly caller: Caller
  readonly target: Target
  /** Functions of the name. */
  readonly overloads: readonly DatabaseFunction[]
  /** Arguments as JSON text. */
  readonly json: string
  /** Creates the error of a function that writes in a read-only transaction; undefined in any other transaction. */
  readonly refuseWrite: (() => AppError) | undefined
  /** Plan of the page; undefined without parameters of a list. */
  readonly list: ListPlan | undefined
}

/** Dependencies for finding the fault of a call. */
export interface FaultDeps {
  readonly database: Pick<UserDatabase, 'run'>
  readonly statements: StatementCache
  readonly isDevelopment: boolean
}

/**
 * Returns the error of a failed call. A data exception in the function counts as a fault of the arguments, since a
 * function works on the client's input. The error does not have PostgreSQL's text, which may quote a hidden row. Any
 * other failure in a function is a fault of its definition.
 */
export async function explainFailure(
  deps: FaultDeps,
  failure: StatementFailed,
  call: FailedCall,
): Promise<AppError | undefined> {
  const { error } = failure
  const { code = '' } = error
  const { called } = call.target
  // Errors of the function itself may carry the text of PostgreSQL.
  const showsText = deps.isDevelopment || call.caller.isAdministrator
  if (isRaised(error)) return translateDatabaseFailure(failure)
  if (code === '25006' && call.refuseWrite !== undefined) return call.refuseWrite().with({ cause: error })
  // This is ambiguous for this call, not for one within the function. PostgreSQL chooses by types alone, so that
  // defaults may make overloads equal.
  if (code === '42725' && error.where === undefined) return ambiguous(call.overloads)
  // The function runs with the privileges of its caller.
  if (isMissingPrivilege(error)) return databaseErrors.insufficientPermissions().with({ cause: error })
  const origin = originOf(error)
  if (origin === 'request' || origin === 'state') return translateDatabaseFailure(failure)
  const fault = origin === 'unknown' ? await findFaultOfRequest(deps, failure, call) : undefined
  if (fault !== undefined) return fault
  const definition = definitionError(error, called.procedure, showsText)
  if (!code.startsWith('22')) return definition
  const { data } = definition.extras
  return databaseErrors
    .invalidValue(`function "${called.procedure}" cannot work with these arguments (SQLSTATE ${code})`)
    .with({ ...(showsText && data !== undefined ? { data } : {}), cause: error })
}

/** Returns the error of a function that writes, or may write, and is called by GET. */
export function writesByPost(): AppError {
  return httpErrors.methodNotAllowed('GET', 'POST').with({ headers: { allow: 'POST' } })
}

/** Returns the error of an argument, or of a condition on the rows, that fails by itself as the call did. */
async function findFaultOfRequest(
  { database, statements }: FaultDeps,
  failure: StatementFailed,
  { caller, target, json, list }: FailedCall,
): Promise<AppError | undefined> {
  const probe = { database, statements, caller }
  const slots = { [argumentsSlot]: json }
  const checks = compileArgumentChecks(target).map((check) => fill(statements.template(check), slots))
  const misfit = await firstFailure(probe, checks)
  const fault = misfit && translateDatabaseFailure(misfit)
  // A domain has constraints of the operator, too, which may fail by themselves.
  if (fault !== undefined && fault.status < 500) return fault
  return list === undefined ? undefined : await findConditionFault(probe, failure, list.rows)
}
