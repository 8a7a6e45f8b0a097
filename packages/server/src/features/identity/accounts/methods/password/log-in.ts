import { ok, operation } from '../../../../../http/operation.ts'
import { normalizeEmail } from '../../../../../lib/email-address.ts'
import { Type } from '../../../../../lib/type.ts'
import type { AccountContext } from '../../context.ts'
import { type Credentials, email, text } from '../../credentials.ts'
import { accountErrors } from '../../errors.ts'
import {
  accountLimits,
  type CountedFailure,
  countFailures,
  knownAddressKey,
  rememberAddress,
  signInKey,
} from '../../limits.ts'
import { type Client, clientOf } from '../../sessions/sessions.ts'
import {
  type Authentication,
  AuthenticationOrPending,
  finishFirstFactor,
  isUnverified,
  type PendingAuthentication,
} from '../../sign-in.ts'
import { findUserByEmail, type User, upgradePasswordHash } from '../../users.ts'
import { mailKey, requestMail } from '../email-link/mails.ts'

export const logInOperation = operation({
  guard: 'public',
  tag: 'accounts',
  id: 'accounts.logIn',
  method: 'POST',
  path: '/api/auth/login',
  summary: 'Sign in with email and password',
  body: Type.Object({ email, password: text('Password of the account.', 8192) }),
  success: ok(AuthenticationOrPending),
  handle: (context: AccountContext, { body, http, origin }) =>
    logIn(context, body, clientOf(http), origin.address),
})

/**
 * Signs in by email and password. An unknown address, a wrong password, an account without a password and a
 * disabled account get the same response after the same steps.
 *
 * @throws AppError invalid_credentials, email_not_verified, too_many_requests, too_many_sign_ins
 */
export async function logIn(
  context: AccountContext,
  credentials: Credentials,
  client: Client,
  address: string,
): Promise<Authentication | PendingAuthentication> {
  const { throttle } = context
  const { email: text = '', password = '' } = credentials
  const email = normalizeEmail(text)
  if (email === undefined || password === '') throw accountErrors.invalidCredentials()
  const limits = accountLimits(context)
  const known = await throttle.check(limits.knownAddress, knownAddressKey(email, address))
  const isKnown = !known.isAllowed
  const counted: readonly CountedFailure[] = [
    { limit: limits.signInFromAddress, key: address, onSuccess: 'release' },
    { limit: limits.signIn, key: signInKey(email, address), onSuccess: 'reset' },
    ...(isKnown ? [] : [{ limit: limits.signInToAccount, key: email, onSuccess: 'reset' } as const]),
  ]
  const response = await countFailures(throttle, counted, async () => {
    const user = await findUserByEmail(context.database, email)
    return await checkPassword(context, user, { email, password }, client)
  })
  if (!isKnown) await rememberAddress(context, email, address)
  return response
}

/** Sends the verification mail again. A user without a session has no other way to request it. */
async function mailVerificationAgain(context: AccountContext, email: string): Promise<void> {
  const { throttle, jobs } = context
  const verdict = await throttle.attempt(accountLimits(context).mailTo, mailKey('email_verification', email))
  if (verdict.isAllowed) await requestMail(jobs, { purpose: 'email_verification', email })
}

async function checkPassword(
  context: AccountContext,
  user: User | undefined,
  credentials: { readonly email: string; readonly password: string },
  client: Client,
): Promise<Authentication | PendingAuthentication> {
  const { database, passwords } = context
  const { email, password } = credentials
  const hash = user?.password_hash ?? undefined
  const isRight = await passwords.verify(password, hash)
  if (user === undefined || hash === undefined || !isRight) throw accountErrors.invalidCredentials()
  if (isUnverified(context, user)) {
    await mailVerificationAgain(context, email)
    throw accountErrors.emailNotVerified()
  }
  const response = await finishFirstFactor(context, database, user, 'password', client)
  if (response === undefined) {
    // Another sign-in may have replaced the checked hash with a better one of the same password.
    const present = await findUserByEmail(database, email)
    if (present?.password_hash === hash) throw accountErrors.invalidCredentials()
    return await checkPassword(context, present, credentials, client)
  }
  if (passwords.isOutdated(hash)) {
    // If this fails, the next sign-in tries again.
    await passwords.hash(password).then(
      (better) => upgradePasswordHash(database, user.id, hash, better),
      () => undefined,
    )
  }
  return response
}
