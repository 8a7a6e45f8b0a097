import type { UserIdentity } from '../../../../http/access/identity.ts'
import type { AccountContext } from '../context.ts'
import { requireEmail, requireNewPassword } from '../credentials.ts'
import { accountErrors } from '../errors.ts'
import { accountLimits, rememberAddress, requireAttempt } from '../limits.ts'
import { lockSelf } from '../own-account.ts'
import type { Client } from '../sessions/sessions.ts'
import {
  type AuthenticationResponse,
  describeUnverified,
  isUnverified,
  startSession,
  type UnverifiedResponse,
} from '../sign-in.ts'
import { insertUser, linkEmail } from '../users.ts'
import { withVerificationMail } from './email-link/mails.ts'
import type { Credentials } from './password/register.ts'

/** A new user without credentials. @throws AppError anonymous_disabled, too_many_requests */
export async function signInAnonymously(
  context: AccountContext,
  client: Client,
  address: string,
): Promise<AuthenticationResponse> {
  const { settings, throttle, database } = context
  if (!settings.current.anonymous_auth_enabled) throw accountErrors.anonymousDisabled()
  await requireAttempt(throttle, accountLimits(context).anonymous, address)
  return await database.transaction(async (transaction) => {
    const user = await insertUser(transaction, { isAnonymous: true })
    const response =
      user === undefined ? undefined : await startSession(context, transaction, user, 'anonymous', client)
    if (response === undefined) throw new Error('a new anonymous user cannot sign in')
    return response
  })
}

/**
 * Gives an anonymous user an address and a password; the id stays. Where the address has to be verified first, there are
 * no new tokens.
 *
 * @throws AppError only_anonymous, invalid_token, already_linked, email_of_another, field_required, …
 */
export async function linkEmailTo(
  context: AccountContext,
  caller: UserIdentity,
  credentials: Credentials,
  client: Client,
  address: string,
): Promise<AuthenticationResponse | UnverifiedResponse> {
  const { database, passwords, throttle } = context
  if (!caller.isAnonymous) throw accountErrors.onlyAnonymous()
  const email = requireEmail(credentials.email)
  const password = await requireNewPassword(context, credentials.password)
  await requireAttempt(throttle, accountLimits(context).register, address)
  const passwordHash = await passwords.hash(password)
  const response = await withVerificationMail(context, email, (requestMail) =>
    database.transaction(async (transaction) => {
      const { id } = await lockSelf(transaction, caller)
      const user = await linkEmail(transaction, id, { email, passwordHash, isVerified: false })
      if (user === undefined) throw accountErrors.alreadyLinked()
      await requestMail(transaction)
      if (isUnverified(context, user)) return describeUnverified(user)
      const session = await startSession(context, transaction, user, 'password', client)
      if (session === undefined) throw accountErrors.alreadyLinked()
      return session
    }),
  )
  if ('token' in response) await rememberAddress(context, email, address)
  return response
}
