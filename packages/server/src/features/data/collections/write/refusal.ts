import { AppError } from '../../../../lib/errors.ts'

const policyHint = 'the record must pass a policy for the write, and one that lets the caller read it back'
const privilegeHint =
  'the role of the caller lacks a privilege (grant) on the table, on a column of it, or on what its defaults, triggers and policies use'

/** A refused write may have been fine and only its return forbidden; of policies PostgreSQL says the same of both. */
export function explainRefusal(error: AppError): AppError {
  if (error.kind !== 'insufficient_permissions' || error.extras.data !== undefined) return error
  return error.with({ data: { hint: isPrivilege(error.extras.cause) ? privilegeHint : policyHint } })
}

/** Without a cause the catalog has refused it. PostgreSQL refuses for want of a privilege in these routines (aclchk.c). */
function isPrivilege(cause: unknown): boolean {
  if (typeof cause !== 'object' || cause === null) return true
  return 'routine' in cause && typeof cause.routine === 'string' && cause.routine.startsWith('aclcheck_error')
}

/** For `catch`: throws on, a refusal with its explanation. */
export function explainingRefusal(error: unknown): never {
  throw error instanceof AppError ? explainRefusal(error) : error
}
