import { flag, integer, secret, text } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** `support`: what users ask for help with, and answers by mail. */
export const supportConfig = Type.Object({
  enabled: flag(false, 'Whether users may open tickets.'),
  inbound_email_domain: text(
    '',
    'Domain whose mail a gateway posts to `/api/webhooks/support/email`; empty: tickets are not answered by mail.',
    { pattern: '^([A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)+)?$', expects: 'a domain such as in.example.com' },
  ),
  webhook_secret: secret('What the gateway sends as `X-Webhook-Secret`; empty: no mail is accepted.'),
  messages_per_hour: integer(60, 'Messages of one user an hour, by the API and by mail.', 1, 100_000),
  retention_days: integer(365, 'Days that closed tickets are kept.', 1, 3650),
})

export type SupportConfig = Static<typeof supportConfig>
