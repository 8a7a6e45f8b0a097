import { flag, text } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

/** `metrics`: metrics in the Prometheus text format. */
export const metricsConfig = Type.Object({
  enabled: flag(true, 'Whether GET /metrics answers.'),
  token: text('', 'Bearer token that GET /metrics asks for. Empty: none.', {
    secret: true,
    pattern: '^(\\S{16,})?$',
    expects: 'at least 16 characters without spaces',
  }),
})
