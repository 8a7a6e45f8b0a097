import { userOf } from '../../../../http/access/authentication.ts'
import { created, ok, operation } from '../../../../http/operation.ts'
import { captchaHeaders, captchaOf } from '../../captcha/index.ts'
import { admitAccount } from '../account-functions.ts'
import type { AccountContext } from '../context.ts'
import { credentials, refuseBreached, requireEmail, requireNewPassword } from '../credentials.ts'
import { accountErrors } from '../errors.ts'
import { accountLimits, rememberAddress, requireAttempt } from '../limits.ts'
import { lockSelf } from '../own-account.ts'
import { clientOf } from '../sessions/sessions.ts'
import {
  Authentication,
  AuthenticationOrUnverified,
  describeUnverified,
  isUnverified,
  startSession,
} from '../sign-in.ts'
import { insertUser, linkEmail as linkCredentials } from '../users.ts'
import { withVerificationMail } from './email-link/mails.ts'

export const signInAnonymously = operation({
  guard: 'public',
  tag: 'accounts',
  id: 'accounts.signInAnonymously',
  method: 'POST',
  path: '/api/auth/anonymous',
  summary: 'Sign in as a new user without credentials',
  headers: captchaHeaders,
  success: created(Authentication),
  async handle(context: AccountContext, { http, origin }) {
    const { settings, throttle, database, functions } = context
    if (!settings.current.anonymous_auth_enabled) throw accountErrors.anonymousDisabled()
    await context.captcha.require('anonymous', captchaOf(http), origin.address)
    await requireAttempt(throttle, accountLimits(context).anonymous, origin.address)
    return await functions.transaction(database, async (transaction) => {
      const client = clientOf(http)
      const inserted = await insertUser(transaction, { isAnonymous: true })
      if (inserted === undefined) throw new Error('an anonymous user cannot be inserted')
      const signUp = { method: 'anonymous', requestId: client.requestId } as const
      const user = await admitAccount(context, transaction, inserted, signUp)
      const response = await startSession(context, transaction, user, 'anonymous', client)
      if (response === undefined) throw new Error('a new anonymous user cannot sign in')
      return response
    })
  },
})

export const linkEmail = operation({
  guard: 'bearer',
  tag: 'accounts',
  id: 'accounts.linkEmail',
  method: 'POST',
  path: '/api/auth/link/email',
  summary: 'Give an anonymous account an email and a password',
  description:
    'The user keeps its id. With `auth.require_verified_email` the response has no tokens until the address is verified.',
  body: credentials,
  success: ok(AuthenticationOrUnverified),
  async handle(context: AccountContext, { body, http, origin: { address } }) {
    const { database, passwords, throttle, functions } = context
    const caller = userOf(http)
    if (!caller.isAnonymous) throw accountErrors.onlyAnonymous()
    const email = requireEmail(body.email)
    const password = await requireNewPassword(context, body.password)
    await requireAttempt(throttle, accountLimits(context).register, address)
    await refuseBreached(context, password)
    const passwordHash = await passwords.hash(password)
    const response = await withVerificationMail(context, email, (requestMail) =>
      functions.transaction(database, async (transaction) => {
        const client = clientOf(http)
        const { id } = await lockSelf(transaction, caller)
        const linked = await linkCredentials(transaction, id, { email, passwordHash, isVerified: false })
        if (linked === undefined) throw accountErrors.alreadyLinked()
        const signUp = { method: 'password', requestId: client.requestId, wasAnonymous: true } as const
        const user = await admitAccount(context, transaction, linked, signUp)
        await requestMail(transaction)
        if (isUnverified(context, user)) return describeUnverified(user)
        const session = await startSession(context, transaction, user, 'password', client)
        if (session === undefined) throw accountErrors.alreadyLinked()
        return session
      }),
    )
    if ('token' in response) await rememberAddress(context, email, address)
    return response
  },
})
