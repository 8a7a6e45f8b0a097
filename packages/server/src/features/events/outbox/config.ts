import { choice, integer } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

/** Configuration section `events`: the log of changes. */
export const eventsConfig = Type.Object({
  capture: choice(
    'on',
    ['on', 'off'],
    'Logs changes by every writer: tables with a listener get triggers. With `off`, only changes through the API are events. A table whose comment contains `@events off` opts out on its own.',
  ),
  retention_hours: integer(
    24,
    'Hours after which events are removed from the log of changes. Events that webhooks have not received yet stay longer, unless no node has delivered for this time.',
    1,
    8760,
  ),
})
