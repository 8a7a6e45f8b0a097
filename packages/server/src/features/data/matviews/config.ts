import { integer } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

/** `matviews`: refreshing materialized views. */
export const matviewsConfig = Type.Object({
  refresh_timeout: integer(3600, 'Seconds that refreshing a materialized view may take.', 1, 86_400),
})
