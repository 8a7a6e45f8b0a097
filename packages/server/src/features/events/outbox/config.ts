import { integer } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

/** `events`: the log of changes. */
export const eventsConfig = Type.Object({
  retention_hours: integer(
    24,
    'Hours the log of changes is kept. What webhooks have yet to receive is kept for longer, unless no node has delivered for so long.',
    1,
    8760,
  ),
})
