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

/** Translates the database error of a statement on objects into an API error, for use in `catch`. */
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
  // A policy is itself at fault if it uses something forbidden to callers.
  const isOfPolicy = error instanceof StatementFailed && originOf(error.error) === 'definition'
  return stateOf(error) === denied && !isOfPolicy
}

/** Returns true if the target of a row's reference was deleted meanwhile. */
export function isMissingReference(error: unknown): boolean {
  return stateOf(error) === missingReference
}

/** Returns true if the object exceeds the plan of its app. */
export function isBeyondPlan(error: unknown): boolean {
  return stateOf(error) === planExceeded
}

/** Returns true if a trial got to its end, where it rolls itself back. */
export function isPassedTrial(error: unknown): boolean {
  return stateOf(error) === trialPassed
}

function stateOf(error: unknown): string | undefined {
  if (error instanceof StatementFailed) return error.error.code
  // An error from a step of the server itself has the failure as its cause.
  const cause = error instanceof Error ? codeOf(error.cause) : undefined
  return cause?.startsWith('BS') === true ? cause : codeOf(error)
}
