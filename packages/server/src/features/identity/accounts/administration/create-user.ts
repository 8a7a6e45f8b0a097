import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { parsePhone, parseTestNumbers } from '../../../messaging/sms/index.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import type { AccountContext } from '../context.ts'
import { requireEmail, requireNewPassword } from '../credentials.ts'
import { accountErrors } from '../errors.ts'
import { accountLimits, requireAttempt } from '../limits.ts'
import { mailKey, requestMail } from '../methods/email-link/mails.ts'
import { findUserByEmail, insertUser } from '../users.ts'

export interface NewUserInput {
  readonly email?: string | undefined
  readonly phone?: string | undefined
  readonly password?: string | undefined
  readonly emailVerified?: boolean | undefined
  readonly invite?: boolean | undefined
}

/**
 * Makes a user with what it signs in with, or invites the owner of an address to choose a password.
 *
 * @returns the id
 * @throws AppError invalid_new_user, invalid_email, invalid_user_phone, password_too_short, …, email_taken, phone_taken,
 *   too_many_requests
 */
export async function createUser(
  context: AccountContext,
  input: NewUserInput,
  origin: RequestOrigin,
): Promise<string> {
  const { database, passwords, jobs, throttle } = context
  const { invite = false, emailVerified = false } = input
  if (input.email === undefined && input.phone === undefined) {
    throw accountErrors.invalidNewUser('email or phone is required')
  }
  if (invite && input.email === undefined) throw accountErrors.invalidNewUser('email is required to invite')
  for (const name of ['password', 'phone'] as const) {
    // The person who accepts the invitation owns the address; what was set before could be another's.
    if (invite && input[name] !== undefined) {
      throw accountErrors.invalidNewUser(`${name} cannot be set together with an invitation`)
    }
  }
  if (emailVerified && (invite || input.email === undefined)) {
    throw accountErrors.invalidNewUser('emailVerified: expected an email and no invitation')
  }
  const email = input.email === undefined ? undefined : requireEmail(input.email)
  const phone = input.phone === undefined ? undefined : requirePhone(context, input.phone)
  const passwordHash =
    input.password === undefined
      ? undefined
      : await passwords.hash(await requireNewPassword(context, input.password))
  if (invite && email !== undefined) {
    await requireAttempt(throttle, accountLimits(context).mailTo, mailKey('invitation', email))
  }
  const id = await database.transaction(async (transaction) => {
    const made = await insertUser(transaction, {
      isEmailVerified: emailVerified,
      ...(email === undefined ? {} : { email }),
      ...(phone === undefined ? {} : { phone }),
      ...(passwordHash === undefined ? {} : { passwordHash }),
    })
    if (made === undefined) {
      const isEmailTaken = email !== undefined && (await findUserByEmail(transaction, email)) !== undefined
      throw isEmailTaken ? accountErrors.emailTaken() : accountErrors.phoneTaken()
    }
    if (invite && email !== undefined) await requestMail(jobs, { purpose: 'invitation', email }, transaction)
    const detail = { email: email ?? null, phone: phone ?? null, emailVerified, invited: invite }
    await recordAudit(transaction, {
      actor: 'admin',
      action: 'users.create',
      target: made.id,
      detail,
      origin,
    })
    return made.id
  })
  jobs.wake()
  return id
}

/** E.164. @throws AppError invalid_user_phone */
export function requirePhone({ config }: Pick<AccountContext, 'config'>, text: string): string {
  const phone = parsePhone(text.trim(), parseTestNumbers(config.sms_test_phone_numbers))
  if (phone === undefined) throw accountErrors.invalidUserPhone()
  return phone.number
}
