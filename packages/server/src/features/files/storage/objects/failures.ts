import { StatementFailed } from '../../../../database/connection/message.ts'
import { definitionError, originOf } from '../../../../database/errors/definition-faults.ts'
import { codeOf } from '../../../../lib/errors.ts'
import { storageErrors } from '../errors.ts'

/** SQLSTATEs of the functions of storage. */
const notStaged = 'BS001'
const quotaExceeded = 'BS002'
const leaseLost = 'BS003'
const trialPassed = 'BS004'
const planExceeded = 'BS005'
const denied = '42501'
const duplicate = '23505'
const missingReference = '23503'

/** What the database says of a statement on objects, as the API says it. For `catch`. */
export function translateFailure(error: unknown): unknown {
  if (error instanceof StatementFailed) {
    // All values of a request are parameters, of which PostgreSQL says so.
    const origin = originOf(error.error)
    if (origin === 'definition' || origin === 'unknown')
      return definitionError(error.error, 'basalt.objects', false)
  }
  switch (stateOf(error)) {
    case denied:
      return storageErrors.insufficientStoragePermissions()
    case quotaExceeded:
      return storageErrors.storageQuotaExceeded()
    case notStaged:
      return storageErrors.uploadTimedOut()
    case leaseLost:
      return storageErrors.resumableUploadLocked()
    case missingReference:
      return storageErrors.bucketNotFound()
    default:
      return error
  }
}

export function isDuplicate(error: unknown): boolean {
  return stateOf(error) === duplicate
}

export function isDenied(error: unknown): boolean {
  // A policy that uses what callers may not is at fault itself.
  const isOfPolicy = error instanceof StatementFailed && originOf(error.error) === 'definition'
  return stateOf(error) === denied && !isOfPolicy
}

/** Whether what a row refers to was deleted meanwhile. */
export function isMissingReference(error: unknown): boolean {
  return stateOf(error) === missingReference
}

/** Whether the plan of the object's app has no room for it. */
export function isBeyondPlan(error: unknown): boolean {
  return stateOf(error) === planExceeded
}

/** Whether a trial got to its end, where it rolls itself back. */
export function isPassedTrial(error: unknown): boolean {
  return stateOf(error) === trialPassed
}

function stateOf(error: unknown): string | undefined {
  if (error instanceof StatementFailed) return error.error.code
  // Of a step of the server itself the failure is the cause.
  const cause = error instanceof Error ? codeOf(error.cause) : undefined
  return cause?.startsWith('BS') === true ? cause : codeOf(error)
}
