import { httpErrors } from '../../../http/errors/errors.ts'
import { checkedByHandler, refusedWith, requiredByHandler } from '../../../http/schemas.ts'
import { normalizeEmail } from '../../../lib/email-address.ts'
import { type Static, Type } from '../../../lib/type.ts'
import { isCommonPassword } from '../passwords/index.ts'
import type { AccountContext } from './context.ts'
import { accountErrors } from './errors.ts'

/** Maximum length of a password. Hashing more is useless. */
const longestPassword = 1024

/** Declares an optional member of a body. Its use case requires it by {@link requireText}, after other checks. */
export function text(
  description: string,
  maxLength: number,
  checkedLater: Readonly<Record<string, unknown>> = {},
) {
  return requiredByHandler(checkedByHandler(checkedLater, Type.String({ maxLength, description })))
}

/** Declares a member of a body that is required before any other check. */
export function requiredText(name: string, description: string) {
  const missing = () => accountErrors.fieldRequired(name)
  return refusedWith({ missing }, Type.String({ minLength: 1, maxLength: 4096, description }))
}

export const email = text('One email address.', 320, { format: 'email' })
/**
 * Password member. Its bound only excludes absurd input. {@link requireNewPassword} rejects long passwords
 * with a message.
 */
export const password = text('At least `auth.min_password_length` characters, by default 8.', 8192, {
  minLength: 8,
})

export const credentials = Type.Object({ email, password })
export type Credentials = Static<typeof credentials>

/** Returns the text of a required field. @throws AppError field_required */
export function requireText(value: string | undefined, field: string): string {
  if (value === undefined || value === '') throw accountErrors.fieldRequired(field)
  return value
}

/** Returns the normalized address. @throws AppError field_required, invalid_email */
export function requireEmail(value: string | undefined): string {
  const email = normalizeEmail(requireText(value?.trim(), 'email'))
  if (email === undefined) throw accountErrors.invalidEmail()
  return email
}

/**
 * Returns a password that a user may choose. It is counted in characters, never truncated, and has no
 * composition rules (NIST SP 800-63B §3.1.1.2).
 *
 * @throws AppError field_required, password_too_short, password_too_long, common_password
 */
export async function requireNewPassword(
  { config, isDevelopment, log }: Pick<AccountContext, 'config' | 'isDevelopment' | 'log'>,
  value: string | undefined,
): Promise<string> {
  const minLength = config.min_password_length
  const password = requireText(value, 'password')
  const length = [...password].length
  if (length < minLength) throw accountErrors.passwordTooShort(minLength)
  if (length > longestPassword) throw accountErrors.passwordTooLong(longestPassword)
  if (config.refuse_common_passwords && (await isCommonPassword(password))) {
    if (!isDevelopment) throw accountErrors.commonPassword()
    log.warn('accepted a common password, which is rejected outside development')
  }
  return password
}

/**
 * Rejects a password of a known data breach. It may send a request to a service, so callers do it after their
 * limits and other checks.
 *
 * @throws AppError breached_password
 */
export async function refuseBreached(
  { breachedPasswords }: Pick<AccountContext, 'breachedPasswords'>,
  password: string,
  field = 'password',
): Promise<void> {
  if (await breachedPasswords.includes(password)) throw httpErrors.breachedPassword(field)
}
