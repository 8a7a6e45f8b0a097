import { count, integer, text } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Configuration `functions`: the server code of the project. */
export const functionsConfig = Type.Object({
  folder: text('functions', 'Folder of the project with its functions. Without the folder there are none.', {
    pattern: '.',
    expects: 'a path',
  }),
  timeout: integer(
    10,
    'Seconds after which a call of a function is ended, and its transaction is rolled back.',
    1,
    25,
  ),
  stream_idle_timeout: integer(
    60,
    'Seconds after which a streamed response is cut if the function sends nothing, or the client reads nothing.',
    1,
    3600,
  ),
  memory_mb: integer(256, 'Maximum size of the JavaScript heap of functions, in MiB.', 32, 65_536),
  connections: {
    ...count(
      1,
      'Maximum number of database connections of functions. auto: a quarter of those of the process, and at least 2. Jobs use at most half of them.',
      1,
      10_000,
    ),
    default: 'auto' as const,
  },
})

export type FunctionsConfig = Static<typeof functionsConfig>
