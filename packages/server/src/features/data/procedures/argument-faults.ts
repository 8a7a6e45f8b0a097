import type { StatementFailed } from '../../../database/connection/message.ts'
import { translateDatabaseFailure } from '../../../database/errors/error-translation.ts'
import type { UserDatabase } from '../../../database/user-database.ts'
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
import type { Target } from './resolve.ts'

/** A call that failed, and whose arguments are looked at by themselves. */
export interface FailedCall {
  readonly caller: Caller
  readonly target: Target
  /** The arguments as a JSON text. */
  readonly json: string
  /** Of a page. */
  readonly list: ListPlan | undefined
}

/** The error of an argument, or of a condition on the rows, that fails by itself. */
export async function findFaultOfRequest(
  deps: { readonly database: Pick<UserDatabase, 'run'>; readonly statements: StatementCache },
  failure: StatementFailed,
  { caller, target, json, list }: FailedCall,
): Promise<AppError | undefined> {
  const probe = { ...deps, caller }
  const slots = { [argumentsSlot]: json }
  const checks = compileArgumentChecks(target).map((check) => fill(deps.statements.template(check), slots))
  const misfit = await firstFailure(probe, checks)
  const fault = misfit && translateDatabaseFailure(misfit)
  // A domain, too, has conditions of the operator's, which may fail by themselves.
  if (fault !== undefined && fault.status < 500) return fault
  return list === undefined ? undefined : await findConditionFault(probe, failure, list.rows)
}
