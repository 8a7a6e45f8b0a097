import type { ChangeAction } from '../../../../database/change-log.ts'
import type { StatementFailed } from '../../../../database/connection/message.ts'
import type { AppError } from '../../../../lib/errors.ts'
import { isChangeDiscarded } from '../compile/required-row.ts'
import { collectionErrors } from '../errors.ts'

/** Returns the error of a write that affected no row. @param id for the message */
export function missingRow(failure: StatementFailed, action: ChangeAction, id?: string): AppError {
  if (action === 'create') return collectionErrors.rowDiscarded()
  return isChangeDiscarded(failure) ? collectionErrors.changeDiscarded() : collectionErrors.recordNotFound(id)
}
