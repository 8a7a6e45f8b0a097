import type { AppError } from '../../lib/errors.ts'
import { Type } from '../../lib/type.ts'
import { checkedByHandler, textForm } from '../schemas.ts'

const maxLength = 200

/** Name of an app or an API key in a request; {@link readProgramName} parses it. */
export const programName = checkedByHandler(
  { maxLength, pattern: textForm },
  Type.String({ description: 'NUL is not allowed; surrounding blanks are removed.' }),
)

/** Returns the name without surrounding blanks. @throws AppError as `refuse` creates it */
export function readProgramName(text: string | undefined, refuse: (problem: string) => AppError): string {
  const name = text?.trim() ?? ''
  if (name === '') throw refuse('name is required')
  if (name.length > maxLength) throw refuse(`name: at most ${maxLength} characters`)
  // Postgres cannot store NUL in text.
  if (name.includes('\0')) throw refuse('name: NUL is not allowed')
  if (!name.isWellFormed()) throw refuse('name: expected well-formed Unicode')
  return name
}
