import { normalizeEmail } from '../../../lib/email-address.ts'
import { isCommonPassword } from '../passwords/index.ts'
import type { AccountContext } from './context.ts'
import { accountErrors } from './errors.ts'

/** Longest password; hashing more is useless. */
const longestPassword = 1024

/** @throws AppError field_required */
export function requireText(value: string | undefined, field: string): string {
  if (value === undefined || value === '') throw accountErrors.fieldRequired(field)
  return value
}

/** The normalized address. @throws AppError field_required, invalid_email */
export function requireEmail(value: string | undefined): string {
  const email = normalizeEmail(requireText(value?.trim(), 'email'))
  if (email === undefined) throw accountErrors.invalidEmail()
  return email
}

/**
 * A password that a user may choose: counted in characters, nothing cut off, no rules of composition (NIST SP 800-63B
 * §3.1.1.2).
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
    log.warn('accepted a common password: outside development it is refused')
  }
  return password
}
