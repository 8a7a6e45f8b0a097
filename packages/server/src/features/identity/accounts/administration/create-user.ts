import { created, operation } from '../../../../http/operation.ts'
import { checkedByHandler } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { parsePhone, parseTestNumbers } from '../../../messaging/sms/index.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { admitAccount } from '../account-functions.ts'
import type { AccountContext } from '../context.ts'
import { refuseBreached, requireEmail, requireNewPassword } from '../credentials.ts'
import { accountErrors } from '../errors.ts'
import { accountLimits, requireAttempt } from '../limits.ts'
import { mailKey, requestMail } from '../methods/email-link/mails.ts'
import { findUserByEmail, insertUser } from '../users.ts'
import { AdminUser, getListedUser } from './listed-user.ts'
import { administration } from './user-id.ts'

export const email = checkedByHandler({ format: 'email' }, Type.String({ maxLength: 320 }))
export const phone = checkedByHandler(
  { format: 'phone' },
  Type.String({ maxLength: 64, description: 'International form, such as +12025550123.' }),
)

export const createUser = operation({
  ...administration,
  id: 'users.create',
  method: 'POST',
  path: '/api/admin/users',
  summary: 'Create a user',
  description:
    'Requires an email or a phone. With `invite`, the user gets a mail with a link to choose a password, ' +
    'which proves the address. Without it, the account can sign in at once.',
  body: Type.Object({
    email: Type.Optional(email),
    phone: Type.Optional(phone),
    password: Type.Optional(
      checkedByHandler(
        { minLength: 8 },
        Type.String({ maxLength: 8192, description: 'At least `auth.min_password_length` characters.' }),
      ),
    ),
    emailVerified: Type.Optional(Type.Boolean({ description: 'True if the address counts as verified.' })),
    invite: Type.Optional(Type.Boolean({ description: 'Only `email` can be set together with this.' })),
  }),
  success: created(AdminUser),
  async handle(context: AccountContext, { body, origin }) {
    const { database, passwords, jobs, throttle, functions } = context
    const { invite = false, emailVerified = false } = body
    if (body.email === undefined && body.phone === undefined) {
      throw accountErrors.invalidNewUser('email or phone is required')
    }
    if (invite && body.email === undefined) throw accountErrors.invalidNewUser('email is required to invite')
    for (const name of ['password', 'phone'] as const) {
      // The person who accepts the invitation owns the address. A password or phone that was set before may belong to
      // a different person.
      if (invite && body[name] !== undefined) {
        throw accountErrors.invalidNewUser(`${name} cannot be set together with an invitation`)
      }
    }
    if (emailVerified && (invite || body.email === undefined)) {
      throw accountErrors.invalidNewUser('emailVerified: expected an email and no invitation')
    }
    const email = body.email === undefined ? undefined : requireEmail(body.email)
    const phone = body.phone === undefined ? undefined : requirePhone(context, body.phone)
    const password =
      body.password === undefined ? undefined : await requireNewPassword(context, body.password)
    if (password !== undefined) await refuseBreached(context, password)
    const passwordHash = password === undefined ? undefined : await passwords.hash(password)
    if (invite && email !== undefined) {
      await requireAttempt(throttle, accountLimits(context).mailTo, mailKey('invitation', email))
    }
    const id = await functions.transaction(database, async (transaction) => {
      const made = await insertUser(transaction, {
        isEmailVerified: emailVerified,
        ...(email === undefined ? {} : { email }),
        ...(phone === undefined ? {} : { phone }),
        ...(passwordHash === undefined ? {} : { passwordHash }),
      })
      if (made === undefined) {
        const isEmailTaken = email !== undefined && (await findUserByEmail(transaction, email)) !== undefined
        throw isEmailTaken ? accountErrors.emailTaken() : accountErrors.phoneTaken()
      }
      await admitAccount(context, transaction, made, { method: 'admin', requestId: origin.requestId })
      if (invite && email !== undefined)
        await requestMail(jobs, { purpose: 'invitation', email }, transaction)
      const detail = { email: email ?? null, phone: phone ?? null, emailVerified, invited: invite }
      await recordAudit(transaction, {
        actor: 'admin',
        action: 'users.create',
        target: made.id,
        detail,
        origin,
      })
      return made.id
    })
    jobs.wake()
    return await getListedUser(database, id)
  },
})

/** Returns the number in E.164 form. @throws AppError invalid_user_phone */
export function requirePhone({ config }: Pick<AccountContext, 'config'>, text: string): string {
  const phone = parsePhone(text.trim(), parseTestNumbers(config.sms_test_phone_numbers))
  if (phone === undefined) throw accountErrors.invalidUserPhone()
  return phone.number
}
