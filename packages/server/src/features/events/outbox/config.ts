import { choice, integer } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

/** `events`: the log of changes. */
export const eventsConfig = Type.Object({
  capture: choice(
    'on',
    ['on', 'off'],
    'Logs changes by any writer: tables with a listener get triggers. With off only changes through the API are events. A comment on a table that holds `@events off` says the same of it.',
  ),
  retention_hours: integer(
    24,
    'Hours the log of changes is kept. What webhooks have yet to receive is kept for longer, unless no node has delivered for so long.',
    1,
    8760,
  ),
})
