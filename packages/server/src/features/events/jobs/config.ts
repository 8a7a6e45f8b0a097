import { flag, integer } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

/** Configuration section `jobs`: background work. */
export const jobsConfig = Type.Object({
  enabled: flag(true, 'True if this node works on jobs. Jobs send mail, among other things.'),
  concurrency: integer(10, 'Maximum number of jobs of one type that this node runs at once.', 1, 1000),
  retention_days: integer(7, 'Days after which finished jobs are removed.', 1, 3650),
})
