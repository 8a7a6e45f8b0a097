import { automatic, flag, integer } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Configuration section `webhooks`: changes posted to receivers. */
export const webhooksConfig = Type.Object({
  allow_private_targets: automatic(
    'Allows webhooks to private and loopback addresses. With `auto`, they are allowed while server.public_base_url is a loopback address.',
  ),
  deliver: flag(
    true,
    'True if this node delivers webhooks. Without such a node, changes wait for events.retention_hours.',
  ),
  concurrency: integer(20, 'Maximum number of deliveries to one receiver at once, over all nodes.', 1, 1000),
  retention_days: integer(7, 'Days after which entries of the log of deliveries are removed.', 1, 3650),
  pause_after_hours: integer(
    72,
    'Hours without any success after which a webhook is paused; 0 means never.',
    0,
    87_600,
  ),
})

export type WebhooksConfig = Static<typeof webhooksConfig>
