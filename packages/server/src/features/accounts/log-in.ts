import { normalizeEmail } from '../../lib/email-address.ts'
import type { AccountContext } from './context.ts'
import { accountErrors } from './errors.ts'
import { accountLimits, requireAttempt, signInKey } from './limits.ts'
import type { Credentials } from './register.ts'
import type { Client } from './sessions.ts'
import { type AuthenticationResponse, finishFirstFactor, type PendingResponse } from './sign-in.ts'
import { findUserByEmail, upgradePasswordHash } from './users.ts'

/**
 * Signs in by email and password. Unknown address, wrong password, account without one and disabled account answer the
 * same and take the same steps.
 *
 * @throws AppError invalid_credentials, too_many_requests, too_many_sign_ins
 */
export async function logIn(
  context: AccountContext,
  credentials: Credentials,
  client: Client,
  address: string,
): Promise<AuthenticationResponse | PendingResponse> {
  const { database, passwords, throttle, config } = context
  const { email: givenEmail = '', password = '' } = credentials
  const email = normalizeEmail(givenEmail)
  if (email === undefined || password === '') throw accountErrors.invalidCredentials()
  const limits = accountLimits(config)
  const accountKey = signInKey(email, address)
  await requireAttempt(throttle, limits.signInFromAddress, address)
  await requireAttempt(throttle, limits.signIn, accountKey)
  await requireAttempt(throttle, limits.signInToAccount, email)

  const user = await findUserByEmail(database, email)
  const isRight = await passwords.verify(password, user?.password_hash ?? undefined)
  if (user === undefined || user.password_hash === null || !isRight) throw accountErrors.invalidCredentials()
  const response = await finishFirstFactor(context, database, user, 'password', client)
  if (response === undefined) throw accountErrors.invalidCredentials()

  await throttle.release(limits.signInFromAddress, address)
  await throttle.reset(limits.signIn, accountKey)
  await throttle.reset(limits.signInToAccount, email)
  if (passwords.isOutdated(user.password_hash)) {
    await upgradePasswordHash(database, user.id, user.password_hash, await passwords.hash(password))
  }
  return response
}
