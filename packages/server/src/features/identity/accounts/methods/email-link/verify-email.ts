import { httpErrors } from '../../../../../http/errors/errors.ts'
import type { AccountContext } from '../../context.ts'
import { requireText } from '../../credentials.ts'
import { accountErrors } from '../../errors.ts'
import { accountLimits, requireAttempt } from '../../limits.ts'
import { findUserById, lockUser, markEmailVerified } from '../../users.ts'
import { consumeMailedToken, findMailedToken } from './mailed-tokens.ts'
import { mailKey, requestMail } from './mails.ts'

/** @throws AppError field_required, invalid_verification_token */
export async function verifyEmail({ database }: AccountContext, given: string | undefined): Promise<void> {
  const token = requireText(given, 'token')
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

/** Asks for another verification mail. @throws AppError too_many_requests, invalid_token */
export async function resendVerification(context: AccountContext, userId: string): Promise<void> {
  const { database, throttle, jobs } = context
  const user = await findUserById(database, userId)
  if (user === undefined) throw httpErrors.invalidToken()
  if (user.email === null || user.email_verified_at !== null) return
  await requireAttempt(throttle, accountLimits(context).mailTo, mailKey('email_verification', user.email))
  await requestMail(jobs, { purpose: 'email_verification', email: user.email })
}
