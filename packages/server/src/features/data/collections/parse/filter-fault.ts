import type { AppError } from '../../../../lib/errors.ts'
import { collectionErrors } from '../errors.ts'

/** A fault of a filter. Its character position is in `data`, and in the message only where nothing else says the place. */
export function filterFault(position: number, problem: string): AppError {
  return collectionErrors.invalidFilter(problem).with({ data: { position } })
}
