import { flag, integer } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

/** `jobs`: work in the background. */
export const jobsConfig = Type.Object({
  enabled: flag(true, 'Whether this node works on jobs. Mail is sent by jobs.'),
  concurrency: integer(10, 'Jobs of one type that this node works on at once.', 1, 1000),
  retention_days: integer(7, 'Days that finished jobs are kept.', 1, 3650),
})
