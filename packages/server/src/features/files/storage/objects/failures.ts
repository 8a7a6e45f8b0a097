import { StatementFailed } from '../../../../database/message.ts'
import { storageErrors } from '../errors.ts'

/** SQLSTATEs of `basalt.track_object`. */
const notStaged = 'BS001'
const quotaExceeded = 'BS002'
const denied = '42501'
const duplicate = '23505'
const missingReference = '23503'

/** What the database says of a statement on objects, as the API says it. For `catch`. */
export function translateFailure(error: unknown): unknown {
  switch (stateOf(error)) {
    case denied:
      return storageErrors.insufficientStoragePermissions()
    case quotaExceeded:
      return storageErrors.storageQuotaExceeded()
    case notStaged:
      return storageErrors.uploadTimedOut()
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
  return stateOf(error) === denied
}

function stateOf(error: unknown): string | undefined {
  return error instanceof StatementFailed ? error.error.code : undefined
}
