import type { AppError } from '../../lib/errors.ts'
import { Type } from '../../lib/type.ts'
import { checkedByHandler, textForm } from '../schemas.ts'

const maxLength = 200

/** Name of an app or an API key in a request; {@link readProgramName} reads it. */
export const programName = checkedByHandler(
  { maxLength, pattern: textForm },
  Type.String({ description: 'Without NUL; blanks around it are removed.' }),
)

/** Returns the name without the blanks around it. @throws AppError as `refuse` makes it */
export function readProgramName(text: string | undefined, refuse: (problem: string) => AppError): string {
  const name = text?.trim() ?? ''
  if (name === '') throw refuse('name is required')
  if (name.length > maxLength) throw refuse(`name: at most ${maxLength} characters`)
  // Postgres has no NUL in texts.
  if (name.includes('\0')) throw refuse('name: NUL is not allowed')
  if (!name.isWellFormed()) throw refuse('name: expected well-formed Unicode')
  return name
}
