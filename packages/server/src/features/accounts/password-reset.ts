import type { AccountContext } from './context.ts'
import { requireEmail, requireNewPassword, requireText } from './credentials.ts'
import { accountErrors } from './errors.ts'
import { accountLimits, requireAttempt } from './limits.ts'
import { consumeMailedToken } from './mailed-tokens.ts'
import { requestMail } from './mails.ts'
import { endSessionsOf } from './sessions.ts'
import { markEmailVerified, setPassword } from './users.ts'

/** Asks for a reset link; the same for every address. @throws AppError field_required, too_many_requests */
export async function requestPasswordReset(
  context: AccountContext,
  givenEmail: string | undefined,
  address: string,
): Promise<void> {
  await requestMailTo(context, 'password_reset', givenEmail, address)
}

/** Asks for a mail. An address beyond its limit gets none, but the answer does not say so. */
export async function requestMailTo(
  { config, throttle, jobs }: AccountContext,
  purpose: 'password_reset' | 'magic_link',
  givenEmail: string | undefined,
  address: string,
): Promise<void> {
  const limits = accountLimits(config)
  requireText(givenEmail?.trim(), 'email')
  await requireAttempt(throttle, limits.mailFromAddress, address)
  const email = tryEmail(givenEmail)
  if (email === undefined) return
  const verdict = await throttle.attempt(limits.mailTo, `${purpose} ${email}`)
  if (verdict.isAllowed) await requestMail(jobs, { purpose, email })
}

function tryEmail(given: string | undefined): string | undefined {
  try {
    return requireEmail(given)
  } catch {
    return undefined
  }
}

/**
 * Sets a password by a mailed token. Whoever can read the mail owns the address; every session of before ends.
 *
 * @throws AppError field_required, invalid_reset_token, password_too_short, …
 */
export async function confirmPasswordReset(
  context: AccountContext,
  given: { token?: string | undefined; password?: string | undefined },
): Promise<void> {
  const { config, database, passwords, endedSessions, throttle } = context
  const token = requireText(given.token, 'token')
  const password = await requireNewPassword(given.password, config.min_password_length)
  const hash = await passwords.hash(password)
  const { ended, email } = await database.transaction(async (transaction) => {
    const used = await consumeMailedToken(transaction, 'password_reset', token)
    if (used === undefined || used.user_id === null) throw accountErrors.invalidResetToken()
    if (!(await markEmailVerified(transaction, used.user_id, used.email)))
      throw accountErrors.invalidResetToken()
    await setPassword(transaction, used.user_id, hash)
    return { ended: await endSessionsOf(transaction, used.user_id), email: used.email }
  })
  for (const id of ended) endedSessions.add(id)
  await throttle.reset(accountLimits(config).signInToAccount, email)
}
