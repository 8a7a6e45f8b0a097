import { AppError } from '../../../../lib/errors.ts'

const policyHint = 'the record must pass a policy for the write, and one that lets the caller read it back'
const privilegeHint =
  'the role of the caller lacks a privilege (grant) on the table, on a column of it, or on what its defaults, triggers and policies use'

/**
 * Adds a hint to a policy error: the write itself may have been allowed and only its return forbidden. PostgreSQL
 * reports both policies alike.
 */
export function explainRefusal(error: AppError): AppError {
  if (error.kind !== 'insufficient_permissions' || error.extras.data !== undefined) return error
  return error.with({ data: { hint: isPrivilege(error.extras.cause) ? privilegeHint : policyHint } })
}

/**
 * Returns whether a privilege is missing. Without a cause the catalog rejected the write. PostgreSQL checks
 * privileges in these routines (aclchk.c).
 */
function isPrivilege(cause: unknown): boolean {
  if (typeof cause !== 'object' || cause === null) return true
  return 'routine' in cause && typeof cause.routine === 'string' && cause.routine.startsWith('aclcheck_error')
}

/** Rethrows an error, with its explanation if the write was rejected. For `catch`. */
export function explainingRefusal(error: unknown): never {
  throw error instanceof AppError ? explainRefusal(error) : error
}
