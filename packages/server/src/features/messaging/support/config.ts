import { flag, integer, secret, text } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Keys of `support`, for tickets of users, and answers by mail. */
export const supportConfig = Type.Object({
  enabled: flag(false, 'True if users may open tickets.'),
  inbound_email_domain: text(
    '',
    'Domain whose mail a gateway posts to `/api/webhooks/support/email`. Empty means that tickets accept no mail.',
    { pattern: '^([A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)+)?$', expects: 'a domain such as in.example.com' },
  ),
  webhook_secret: secret(
    'Secret that the gateway sends as `X-Webhook-Secret`. Empty means that no mail is accepted.',
  ),
  messages_per_hour: integer(60, 'Messages of one user an hour, by the API and by mail.', 1, 100_000),
  retention_days: integer(365, 'Days for which closed tickets are kept.', 1, 3650),
})

export type SupportConfig = Static<typeof supportConfig>
