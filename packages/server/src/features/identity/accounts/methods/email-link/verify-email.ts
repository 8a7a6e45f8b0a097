import { userOf } from '../../../../../http/access/authentication.ts'
import { httpErrors } from '../../../../../http/errors/errors.ts'
import { ok, operation } from '../../../../../http/operation.ts'
import { Message } from '../../../../../http/schemas.ts'
import { Type } from '../../../../../lib/type.ts'
import type { AccountContext } from '../../context.ts'
import { requiredText } from '../../credentials.ts'
import { accountErrors } from '../../errors.ts'
import { accountLimits, requireAttempt } from '../../limits.ts'
import { findUserById, lockUser, markEmailVerified } from '../../users.ts'
import { consumeMailedToken, findMailedToken } from './mailed-tokens.ts'
import { mailKey, requestMail } from './mails.ts'

export const verifyEmailOperation = operation({
  guard: 'public',
  tag: 'accounts',
  id: 'accounts.verifyEmail',
  method: 'POST',
  path: '/api/auth/verify',
  summary: 'Verify an email address by a mailed token',
  body: Type.Object({ token: requiredText('token', 'Token of the link.') }),
  success: ok(Message),
  async handle(context: AccountContext, { body }) {
    await verifyEmail(context, body.token)
    return { message: 'email verified' }
  },
})

export const resendVerification = operation({
  guard: 'bearer',
  tag: 'accounts',
  id: 'accounts.resendVerification',
  method: 'POST',
  path: '/api/auth/verify/resend',
  summary: 'Request another verification mail',
  success: ok(Message),
  async handle(context: AccountContext, { http }) {
    const { database, throttle, jobs } = context
    const user = await findUserById(database, userOf(http).userId)
    if (user === undefined) throw httpErrors.invalidToken()
    if (user.email !== null && user.email_verified_at === null) {
      await requireAttempt(throttle, accountLimits(context).mailTo, mailKey('email_verification', user.email))
      await requestMail(jobs, { purpose: 'email_verification', email: user.email })
    }
    return { message: 'verification email sent' }
  },
})

/** Verifies the address by its mailed token. @throws AppError invalid_verification_token */
export async function verifyEmail({ database }: AccountContext, token: string): Promise<void> {
  await database.transaction(async (transaction) => {
    const mailed = await findMailedToken(transaction, 'email_verification', token)
    const user = await lockUser(transaction, mailed?.user_id ?? '')
    const used = await consumeMailedToken(transaction, 'email_verification', token)
    if (user === undefined || used === undefined) throw accountErrors.invalidVerificationToken()
    if ((await markEmailVerified(transaction, user.id, used.email)) === undefined) {
      throw accountErrors.invalidVerificationToken()
    }
  })
}
