import { created, operation } from '../../../../../http/operation.ts'
import type { AccountContext } from '../../context.ts'
import { credentials, requireEmail, requireNewPassword } from '../../credentials.ts'
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
  body: credentials,
  success: created(AuthenticationOrUnverified),
  async handle(context: AccountContext, { body, http, origin: { address } }) {
    const { database, passwords, throttle } = context
    const email = requireEmail(body.email)
    const password = await requireNewPassword(context, body.password)
    await requireAttempt(throttle, accountLimits(context).register, address)
    const passwordHash = await passwords.hash(password)
    const response = await withVerificationMail(context, email, (requestMail) =>
      database.transaction(async (transaction) => {
        const user = await insertUser(transaction, { email, passwordHash })
        if (user === undefined) throw accountErrors.emailTaken()
        await requestMail(transaction)
        if (isUnverified(context, user)) return describeUnverified(user)
        const session = await startSession(context, transaction, user, 'password', clientOf(http))
        // The user was created in the same transaction.
        if (session === undefined) throw accountErrors.emailTaken()
        return session
      }),
    )
    if ('token' in response) await rememberAddress(context, email, address)
    return response
  },
})
