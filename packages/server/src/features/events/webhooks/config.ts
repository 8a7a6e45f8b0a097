import { automatic, flag, integer } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** `webhooks`: changes posted to receivers. */
export const webhooksConfig = Type.Object({
  allow_private_targets: automatic(
    'Whether webhooks may go to private and loopback addresses. auto: while server.public_base_url is a loopback address.',
  ),
  deliver: flag(
    true,
    'Whether this node delivers webhooks. Changes wait for a node that does, for events.retention_hours.',
  ),
  concurrency: integer(20, 'Deliveries to one receiver at once, over all nodes.', 1, 1000),
  retention_days: integer(7, 'Days the log of deliveries is kept.', 1, 3650),
  pause_after_hours: integer(
    72,
    'Hours without any success after which a webhook is paused; 0 means never.',
    0,
    87_600,
  ),
})

export type WebhooksConfig = Static<typeof webhooksConfig>
