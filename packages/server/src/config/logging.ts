import { Type } from 'typebox'
import { choice } from './keys.ts'

/** `logging`: what the log shows. */
export const loggingConfig = Type.Object({
  level: choice('info', ['trace', 'debug', 'info', 'warn', 'error'], 'Least severe level that is written.'),
  format: choice('auto', ['auto', 'pretty', 'json'], 'auto: pretty on a terminal, JSON lines elsewhere.'),
  requests: choice(
    'auto',
    ['auto', 'none', 'failed', 'all'],
    'Requests that are logged; failed: status 500 and up; auto: all in the pretty format, failed in JSON.',
  ),
})
