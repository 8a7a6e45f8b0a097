import type { AccountContext } from '../../context.ts'
import { requireEmail, requireNewPassword } from '../../credentials.ts'
import { accountErrors } from '../../errors.ts'
import { accountLimits, rememberAddress, requireAttempt } from '../../limits.ts'
import type { Client } from '../../sessions/sessions.ts'
import {
  type AuthenticationResponse,
  describeUnverified,
  isUnverified,
  startSession,
  type UnverifiedResponse,
} from '../../sign-in.ts'
import { insertUser } from '../../users.ts'
import { withVerificationMail } from '../email-link/mails.ts'

export interface Credentials {
  readonly email?: string | undefined
  readonly password?: string | undefined
}

/**
 * Makes an account, and signs it in unless its address has to be verified first.
 *
 * @throws AppError field_required, invalid_email, password_too_short, …, email_taken, too_many_requests
 */
export async function register(
  context: AccountContext,
  credentials: Credentials,
  client: Client,
  address: string,
): Promise<AuthenticationResponse | UnverifiedResponse> {
  const { database, passwords, throttle } = context
  const email = requireEmail(credentials.email)
  const password = await requireNewPassword(context, credentials.password)
  await requireAttempt(throttle, accountLimits(context).register, address)
  const passwordHash = await passwords.hash(password)
  const response = await withVerificationMail(context, email, (requestMail) =>
    database.transaction(async (transaction) => {
      const user = await insertUser(transaction, { email, passwordHash })
      if (user === undefined) throw accountErrors.emailTaken()
      await requestMail(transaction)
      if (isUnverified(context, user)) return describeUnverified(user)
      const session = await startSession(context, transaction, user, 'password', client)
      // The user was made in the same transaction.
      if (session === undefined) throw accountErrors.emailTaken()
      return session
    }),
  )
  if ('token' in response) await rememberAddress(context, email, address)
  return response
}
