import type { AppError } from '../../../../lib/errors.ts'
import { collectionErrors } from '../errors.ts'

/** A fault of a filter at a character position, which `data` carries for editors. */
export function filterFault(position: number, problem: string, found?: string): AppError {
  const message = `${problem} at position ${position}${found === undefined ? '' : `: ${found}`}`
  return collectionErrors.invalidFilter(message).with({ data: { position } })
}
