import { flag, text } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

/** Keys of `metrics`, in the Prometheus text format. */
export const metricsConfig = Type.Object({
  enabled: flag(true, 'True if GET /metrics is served.'),
  token: text('', 'Bearer token that GET /metrics requires. Empty means none.', {
    secret: true,
    pattern: '^(\\S{16,})?$',
    expects: 'at least 16 characters without spaces',
  }),
})
