import { httpErrors } from '../../../http/errors/errors.ts'
import { checkedByHandler, lineForm } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const longest = 100

/** Name of a passkey in a request. {@link readDisplayName} enforces the documented rules. */
export const displayName = checkedByHandler(
  { maxLength: longest, pattern: lineForm },
  Type.String({ maxLength: 1024, description: 'Name that the user gave to the passkey.' }),
)

/**
 * Returns the name that a user gives to a passkey. Returns undefined for a blank one.
 *
 * @throws AppError invalid_request
 */
export function readDisplayName(text: string | undefined): string | undefined {
  const name = text?.trim() ?? ''
  if (name === '') return undefined
  if ([...name].length > longest || /\p{Cc}/u.test(name)) {
    throw httpErrors.invalidRequest(
      `display_name: must be at most ${longest} characters, without control characters`,
    )
  }
  return name
}
