import { httpErrors } from '../../../../http/errors/errors.ts'
import { accepted, operation } from '../../../../http/operation.ts'
import { choice, Message, refusedWith } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import type { AccountContext } from '../context.ts'
import { accountErrors } from '../errors.ts'
import { accountLimits, requireAttempt } from '../limits.ts'
import { mailKey, mailKindNames, requestMail } from '../methods/email-link/mails.ts'
import { requireUser } from '../users.ts'
import { administration, userParams } from './user-id.ts'

const refusal = {
  missing: () => accountErrors.fieldRequired('purpose'),
  invalid: () => httpErrors.invalidRequest(`purpose: expected one of ${mailKindNames.join(', ')}`),
}

export const mailUser = operation({
  ...administration,
  id: 'users.sendMail',
  method: 'POST',
  path: '/api/admin/users/:id/mail',
  summary: 'Send a user a mail with a link',
  params: userParams,
  body: Type.Object({ purpose: refusedWith(refusal, choice(mailKindNames)) }),
  success: accepted(Message),
  async handle(context: AccountContext, { params: { id }, body, origin }) {
    const { database, jobs, settings, throttle } = context
    const { purpose } = body
    const user = await requireUser(database, id)
    if (user.email === null) throw accountErrors.userWithoutEmail()
    if (user.disabled_at !== null) throw accountErrors.userDisabled()
    if (purpose === 'magic_link' && !settings.current.magic_link_enabled)
      throw accountErrors.magicLinkDisabled()
    if (purpose === 'email_verification' && user.email_verified_at !== null) {
      throw accountErrors.emailAlreadyVerified()
    }
    const { email } = user
    await requireAttempt(throttle, accountLimits(context).mailTo, mailKey(purpose, email))
    await database.transaction(async (transaction) => {
      await requestMail(jobs, { purpose, email }, transaction)
      const detail = { purpose }
      await recordAudit(transaction, {
        actor: 'admin',
        action: 'users.send_mail',
        target: id,
        detail,
        origin,
      })
    })
    jobs.wake()
    return { message: 'the mail will be sent' }
  },
})
