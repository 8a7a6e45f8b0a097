import { type Static, Type } from '../lib/type.ts'
import { choice, flag, integer, table } from './keys.ts'

/** Configuration section `logging`: log output and retention. */
export const loggingConfig = Type.Object({
  level: choice('info', ['trace', 'debug', 'info', 'warn', 'error'], 'Minimum severity of logged lines.'),
  format: choice('auto', ['auto', 'pretty', 'json'], 'auto: pretty on a terminal, JSON lines elsewhere.'),
  requests: choice(
    'auto',
    ['auto', 'none', 'failed', 'all'],
    'Requests that are logged. failed: status 500 and up. auto: all in the pretty format, failed in JSON.',
  ),
  store: flag(true, 'Stores the log in the database, too, for GET /api/admin/logs.'),
  store_requests: flag(
    true,
    'Stores every completed request in the database, for GET /api/admin/analytics/requests.',
  ),
  dashboard_reads: flag(
    false,
    'Logs and counts reads by the dashboard, too, unless an owner has set it in the dashboard. Its writes, its sign-ins and faults of the server (5xx) are always included.',
  ),
  retention_days: integer(7, 'Days after which the stored log and requests are deleted.', 1, 3650),
  drains: table(
    Type.Object(
      {
        type: Type.Union([Type.Literal('http'), Type.Literal('otlp')]),
        url: Type.String({ pattern: '^https?://[^\\s]+$' }),
        headers: Type.Optional(Type.Record(Type.String(), Type.String({ pattern: '^[^\\r\\n]*$' }))),
      },
      { additionalProperties: false },
    ),
    'Where the log is sent to as well: http posts a JSON array of entries, otlp an OTLP/HTTP logs request in JSON.',
    {
      expects: 'tables such as {central = {type = "http", url = "https://logs.example.com"}}',
      secret: true,
    },
  ),
})

export type LoggingConfig = Static<typeof loggingConfig>
