import { httpErrors } from '../../../http/errors/errors.ts'

const longest = 100

/** What a user calls a passkey; undefined when nothing was given. @throws AppError invalid_request */
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
