import { httpErrors } from '../../../http/errors/errors.ts'
import { checkedByHandler, lineForm } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const longest = 100

/** Name of a passkey in a request. {@link readDisplayName} has the rules that the document states. */
export const displayName = checkedByHandler(
  { maxLength: longest, pattern: lineForm },
  Type.String({ maxLength: 1024, description: 'Name that the user gave it.' }),
)

/** Returns the name that a user gives to a passkey; undefined when it is blank. @throws AppError invalid_request */
export function readDisplayName(given: string | undefined): string | undefined {
  const name = given?.trim() ?? ''
  if (name === '') return undefined
  if ([...name].length > longest || /\p{Cc}/u.test(name)) {
    throw httpErrors.invalidRequest(
      `display_name: must be at most ${longest} characters, without control characters`,
    )
  }
  return name
}
