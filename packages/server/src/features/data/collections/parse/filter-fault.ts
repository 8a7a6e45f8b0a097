import type { AppError } from '../../../../lib/errors.ts'
import { collectionErrors } from '../errors.ts'

/**
 * Returns the error for a faulty filter. Its character position is in `data`. The message has it only where nothing
 * else shows the position.
 */
export function filterFault(position: number, problem: string): AppError {
  return collectionErrors.invalidFilter(problem).with({ data: { position } })
}
