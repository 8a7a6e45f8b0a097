import { integer } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

/** Keys of `matviews`, the refresh of materialized views. */
export const matviewsConfig = Type.Object({
  refresh_timeout: integer(3600, 'Maximum duration of a refresh in seconds.', 1, 86_400),
})
