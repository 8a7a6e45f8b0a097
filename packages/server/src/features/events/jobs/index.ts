import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import { createJobAdministration } from './administration.ts'
import { correctJobCounts } from './counts.ts'
import { deleteFinishedJobRows } from './queries.ts'
import { jobRoutes } from './routes.ts'

export { requireJobType } from './administration.ts'
export { jobErrorTable } from './errors.ts'
export { deleteFinishedJobRows } from './queries.ts'
export { createJobQueue } from './queue.ts'
export { refuseWhileDisabled } from './routes.ts'
export { maxAttemptsSchema, payloadSchema } from './schemas.ts'

export interface JobsDeps {
  readonly queue: JobQueue
  readonly database: SystemDatabase
  /** Whether this node works on jobs; else their administration is refused. */
  readonly isEnabled: boolean
  /** Days that finished jobs are kept. */
  readonly retentionDays: number
}

/** Work that outlives the request that asked for it. */
export function jobs({ queue, database, isEnabled, retentionDays }: JobsDeps): Feature {
  queue.define(
    housekeeping('job_retention', async ({ retention_days = retentionDays }) => {
      await deleteFinishedJobRows(database, retention_days)
      await correctJobCounts(database)
    }),
  )
  return {
    name: 'jobs',
    routes: (app) => jobRoutes(app, createJobAdministration(database, queue), isEnabled),
    start: () => queue.start(),
    stop: () => queue.stop(),
  }
}
