import { isDevelopment } from '../../../config/development.ts'
import { verifySmtp } from '../../../features/messaging/mail/index.ts'
import { messageOf } from '../../../lib/errors.ts'
import { type Check, failure, ok, warning } from '../check.ts'
import { CheckSkipped } from '../check-skipped.ts'

const limits = { connectMs: 5000, messageMs: 8000 }

/** Check that mail can be sent. It connects to the mail server and signs in, and sends nothing. */
export const mail: Check = {
  id: 'mail',
  async run({ config, outside }) {
    const { auth, email } = config
    if (!auth.enabled) throw new CheckSkipped('auth.enabled is false: no account needs mail')
    if (email.backend === 'log') {
      if (isDevelopment(config)) throw new CheckSkipped('in development, mail is in the log')
      const fix = 'backend = "smtp"   # in [email], with host, port, username and password in [email.smtp]'
      const required = auth.require_verified_email
        ? 'auth.require_verified_email'
        : auth.magic_link_enabled
          ? 'auth.magic_link_enabled'
          : undefined
      if (required !== undefined)
        return [failure('mail', `email.backend is "log", so no mail is sent, but ${required} needs it`, fix)]
      return [warning('mail', 'email.backend is "log": users cannot reset their passwords', fix)]
    }
    // A request to the webhook would send a mail.
    if (email.backend === 'webhook') return [ok('mail', 'mail is posted to email.webhook.url')]
    const { host, port } = email.smtp
    const where = `${host}:${port}`
    try {
      await verifySmtp({
        smtp: email.smtp,
        limits,
        ...(outside.trust === undefined ? {} : { trust: outside.trust }),
      })
    } catch (error) {
      const fix = 'host, port, security, username and password   # in [email.smtp]'
      return [failure('mail', `the mail server ${where} cannot be used: ${messageOf(error)}`, fix)]
    }
    return [
      ok(
        'mail',
        `the mail server ${where} accepts connections${email.smtp.username === '' ? '' : ' and the sign-in'}`,
      ),
    ]
  },
}
