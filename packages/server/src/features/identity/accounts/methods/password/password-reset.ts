import { ok, operation } from '../../../../../http/operation.ts'
import { Message } from '../../../../../http/schemas.ts'
import { Type } from '../../../../../lib/type.ts'
import { captchaHeaders, captchaOf } from '../../../captcha/index.ts'
import type { AccountContext } from '../../context.ts'
import {
  email,
  password,
  refuseBreached,
  requireEmail,
  requireNewPassword,
  requireText,
  text,
} from '../../credentials.ts'
import { accountErrors } from '../../errors.ts'
import { accountLimits, requireAttempt, signInKey } from '../../limits.ts'
import { endSessionsOf } from '../../sessions/sessions.ts'
import { lockUser, setPassword, takeOverUnverified } from '../../users.ts'
import { consumeMailedToken, findMailedToken, voidMailedTokens } from '../email-link/mailed-tokens.ts'
import { mailKey, requestMail } from '../email-link/mails.ts'

export const requestPasswordReset = operation({
  guard: 'public',
  tag: 'accounts',
  id: 'accounts.requestPasswordReset',
  method: 'POST',
  path: '/api/auth/password-reset',
  summary: 'Request a link to reset the password',
  description: 'The response is the same whether or not the account exists.',
  headers: captchaHeaders,
  body: Type.Object({ email }),
  success: ok(Message),
  async handle(context: AccountContext, { body, http, origin }) {
    await context.captcha.require('password_reset', captchaOf(http), origin.address)
    await requestMailTo(context, 'password_reset', body.email, origin.address)
    return { message: 'if that email exists, a reset link has been sent' }
  },
})

export const confirmPasswordResetOperation = operation({
  guard: 'public',
  tag: 'accounts',
  id: 'accounts.confirmPasswordReset',
  method: 'POST',
  path: '/api/auth/password-reset/confirm',
  summary: 'Set a password by a mailed token',
  body: Type.Object({ token: text('Token of the link.', 4096), password }),
  success: ok(Message),
  async handle(context: AccountContext, { body, origin }) {
    await confirmPasswordReset(context, body, origin.address)
    return { message: 'password has been reset' }
  },
})

/**
 * Requests a mail, in the same way for every address. An address beyond its limit gets no mail, but the
 * response does not reveal it.
 *
 * @throws AppError field_required, too_many_requests
 */
export async function requestMailTo(
  context: AccountContext,
  purpose: 'password_reset' | 'magic_link',
  text: string | undefined,
  address: string,
): Promise<void> {
  const { throttle, jobs } = context
  const limits = accountLimits(context)
  requireText(text?.trim(), 'email')
  await requireAttempt(throttle, limits.mailFromAddress, address)
  const email = tryEmail(text)
  if (email === undefined) return
  const verdict = await throttle.attempt(limits.mailTo, mailKey(purpose, email))
  if (verdict.isAllowed) await requestMail(jobs, { purpose, email })
}

function tryEmail(text: string | undefined): string | undefined {
  try {
    return requireEmail(text)
  } catch {
    return undefined
  }
}

/**
 * Sets a password by a mailed token, which proves that the caller owns the address. All previous sessions
 * end. {@link takeOverUnverified} clears an account whose address was never verified. Second factors stay.
 *
 * @throws AppError field_required, invalid_reset_token, password_too_short, …
 */
export async function confirmPasswordReset(
  context: AccountContext,
  body: { token?: string | undefined; password?: string | undefined },
  address: string,
): Promise<void> {
  const { database, passwords, endedSessions, throttle, secondFactors } = context
  const token = requireText(body.token, 'token')
  const password = await requireNewPassword(context, body.password)
  const mailed = await findMailedToken(database, 'password_reset', token)
  // This check precedes hashing, so that a client cannot load the server with invented tokens.
  if (mailed === undefined) throw accountErrors.invalidResetToken()
  const { user_id: userId, email } = mailed
  await refuseBreached(context, password)
  const hash = await passwords.hash(password)
  const ended = await database.transaction(async (transaction) => {
    const user = await lockUser(transaction, userId ?? '')
    const used = await consumeMailedToken(transaction, 'password_reset', token)
    if (user === undefined || used === undefined) throw accountErrors.invalidResetToken()
    if (user.email !== email) throw accountErrors.invalidResetToken()
    if (user.email_verified_at === null) {
      const hasFactor = await secondFactors.isEnrolled(transaction, user.id)
      await takeOverUnverified(transaction, user.id, { hasFactor })
    }
    await setPassword(transaction, user.id, hash)
    await voidMailedTokens(transaction, email)
    return await endSessionsOf(transaction, user.id)
  })
  for (const id of ended) endedSessions.add(id)
  const limits = accountLimits(context)
  await throttle.reset(limits.signInToAccount, email)
  await throttle.reset(limits.signIn, signInKey(email, address))
}
