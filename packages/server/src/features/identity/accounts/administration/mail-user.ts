import { httpErrors } from '../../../../http/errors/errors.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import type { AccountContext } from '../context.ts'
import { requireText } from '../credentials.ts'
import { accountErrors } from '../errors.ts'
import { accountLimits, requireAttempt } from '../limits.ts'
import { type MailKindName, mailKey, mailKindNames, requestMail } from '../methods/email-link/mails.ts'
import { requireUser } from '../users.ts'

/**
 * Sends the user a mail with a link, as the user could ask for it.
 *
 * @throws AppError field_required, invalid_request, user_not_found, user_without_email, user_disabled, magic_link_disabled,
 *   email_already_verified, too_many_requests
 */
export async function mailUser(
  context: AccountContext,
  id: string,
  givenPurpose: string | undefined,
  origin: RequestOrigin,
): Promise<void> {
  const { database, jobs, settings, throttle } = context
  const purpose = requirePurpose(requireText(givenPurpose, 'purpose'))
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
    await recordAudit(transaction, { actor: 'admin', action: 'users.send_mail', target: id, detail, origin })
  })
  jobs.wake()
}

function requirePurpose(given: string): MailKindName {
  const purpose = mailKindNames.find((name) => name === given)
  if (purpose === undefined) {
    throw httpErrors.invalidRequest(`purpose: expected one of ${mailKindNames.join(', ')}`)
  }
  return purpose
}
