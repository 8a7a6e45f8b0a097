import { created, operation } from '../../../../../http/operation.ts'
import { captchaHeaders, captchaOf } from '../../../captcha/index.ts'
import { admitAccount } from '../../account-functions.ts'
import type { AccountContext } from '../../context.ts'
import { credentials, refuseBreached, requireEmail, requireNewPassword } from '../../credentials.ts'
import { accountErrors } from '../../errors.ts'
import { accountLimits, rememberAddress, requireAttempt } from '../../limits.ts'
import { clientOf } from '../../sessions/sessions.ts'
import { AuthenticationOrUnverified, describeUnverified, isUnverified, startSession } from '../../sign-in.ts'
import { insertUser } from '../../users.ts'
import { withVerificationMail } from '../email-link/mails.ts'

export const register = operation({
  guard: 'public',
  tag: 'accounts',
  id: 'accounts.register',
  method: 'POST',
  path: '/api/auth/register',
  summary: 'Create an account and sign in',
  description: 'With `auth.require_verified_email` the response has no tokens until the address is verified.',
  headers: captchaHeaders,
  body: credentials,
  success: created(AuthenticationOrUnverified),
  async handle(context: AccountContext, { body, http, origin: { address } }) {
    const { database, passwords, throttle, captcha, functions } = context
    await captcha.require('register', captchaOf(http), address)
    const email = requireEmail(body.email)
    const password = await requireNewPassword(context, body.password)
    await requireAttempt(throttle, accountLimits(context).register, address)
    await refuseBreached(context, password)
    const passwordHash = await passwords.hash(password)
    const response = await withVerificationMail(context, email, (requestMail) =>
      functions.transaction(database, async (transaction) => {
        const inserted = await insertUser(transaction, { email, passwordHash })
        if (inserted === undefined) throw accountErrors.emailTaken()
        const client = clientOf(http)
        const signUp = { method: 'password', requestId: client.requestId } as const
        const user = await admitAccount(context, transaction, inserted, signUp)
        await requestMail(transaction)
        if (isUnverified(context, user)) return describeUnverified(user)
        const session = await startSession(context, transaction, user, 'password', client)
        // The user was created in the same transaction.
        if (session === undefined) throw accountErrors.emailTaken()
        return session
      }),
    )
    if ('token' in response) await rememberAddress(context, email, address)
    return response
  },
})
