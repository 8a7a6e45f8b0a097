import {
  choice,
  integer,
  list,
  plain,
  secret,
  signingSecret,
  text,
  webAddress,
} from '../../../config/keys.ts'
import type { ConfigRule, RuleViolation } from '../../../config/rule.ts'
import { isLoopback } from '../../../lib/addresses.ts'
import { isEmailAddress } from '../../../lib/email-address.ts'
import { parseSender } from '../../../lib/mail-sender.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Keys of `email`, for sending mail. */
export const emailConfig = Type.Object({
  backend: choice('log', ['log', 'smtp', 'webhook'], 'Backend that sends mail.'),
  from: text('Basalt <no-reply@localhost>', 'Sender of mail.', {
    pattern: '^[^\\r\\n]*[^\\s@]+@[^\\s@]+$',
    expects: 'an address such as Shop <no-reply@example.com>',
  }),
  app_name: text('Basalt', 'Name of the application in mail.', { minLength: 1, expects: 'a name' }),
  webhook: Type.Object({
    url: webAddress('Address that the webhook backend posts mail to.'),
    secret: signingSecret(
      "Key that signs the webhook backend's requests, as in Standard Webhooks: any text, or whsec_ and base64.",
    ),
    timeout: integer(10, 'Seconds within which the webhook must respond.', 1, 120),
  }),
  smtp: Type.Object({
    host: plain('Mail server.'),
    port: integer(587, 'Port of the mail server.', 1, 65_535),
    username: plain('User name at the mail server. Empty means no sign-in.'),
    password: secret('Password at the mail server.'),
    security: choice(
      'starttls',
      ['starttls', 'tls', 'none'],
      'starttls rejects servers without it. tls encrypts from the first byte (port 465). none is only for a server nearby.',
    ),
    max_connections: integer(5, 'Maximum number of connections to the mail server, per node.', 1, 100),
  }),
  policy: Type.Object({
    senders: choice(
      'users',
      ['users', 'keys', 'none'],
      'Senders allowed by `/api/email/send`: signed-in users and programs, API keys only, or none. Programs need the action `email:send`, which only an administrator grants.',
    ),
    allowed_from_addresses: list([], 'Senders that `from` may name in addition to that of `email.from`.', {
      pattern: '^[^\\s@<>]+@[^\\s@<>]+$',
      expects: 'a list of addresses such as orders@example.com',
    }),
    max_recipients_per_request: integer(50, 'Maximum number of recipients of one request.', 1, 1000),
    send_rate_limit_per_key: integer(
      100,
      'Mails of one user in the window, over all sessions, API keys and tokens. Programs that act for no user are counted by app.',
      1,
      10_000_000,
    ),
    send_rate_limit_window: integer(3600, 'Length of the window in seconds.', 1, 31_536_000),
    retention_days: integer(30, 'Days for which the log of these mails is kept.', 1, 3650),
  }),
})

export type EmailConfig = Static<typeof emailConfig>

/** Rules of `email`. */
export const emailRules: readonly ConfigRule<Sections>[] = [emailBackendNeedsItsKeys, emailNeedsSender]

interface Sections {
  readonly email: EmailConfig
}

function emailBackendNeedsItsKeys({ email }: Sections): RuleViolation[] {
  const because = `email.backend = "${email.backend}"`
  if (email.backend === 'webhook' && email.webhook.url === '') {
    return [{ key: 'email.webhook.url', problem: `required with ${because}` }]
  }
  if (email.backend !== 'smtp') return []
  const { host, username, password } = email.smtp
  return [
    ...(host.trim() === '' ? [{ key: 'email.smtp.host', problem: `required with ${because}` }] : []),
    ...(username !== '' && password === ''
      ? [{ key: 'email.smtp.password', problem: 'required with email.smtp.username' }]
      : []),
  ]
}

/**
 * Requires a real sender address with SMTP, because mail from an invalid one is refused or treated as spam. A
 * server on a loopback address is exempt, since it is for experiments.
 */
function emailNeedsSender({ email }: Sections): RuleViolation | undefined {
  const { address } = parseSender(email.from)
  if (email.backend !== 'smtp' || isLoopback(email.smtp.host) || isEmailAddress(address)) return undefined
  return {
    key: 'email.from',
    problem: `"${address}" is no address mail can come from; with email.backend = "smtp" it must be one, such as Shop <no-reply@example.com>`,
  }
}
