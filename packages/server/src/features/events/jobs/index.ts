import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import { correctJobCounts } from './counts.ts'
import { addJobOperations } from './gate.ts'
import { deleteFinishedJobs } from './job.ts'
import { jobOperations } from './operations.ts'

export { dueDeploys } from './deploys.ts'
export { jobErrors, jobErrorTable } from './errors.ts'
export { addJobOperations } from './gate.ts'
export { deleteFinishedJobs, payloadSchema } from './job.ts'
export { maxAttemptsSchema, requireJobType, requireRightToRun } from './operations.ts'
export { createJobQueue } from './queue.ts'

export interface JobsDeps {
  readonly queue: JobQueue
  readonly database: SystemDatabase
  /** True if this node works on jobs. Otherwise the administration of jobs is refused. */
  readonly isEnabled: boolean
  /** Days after which finished jobs are removed. */
  readonly retentionDays: number
}

/** Creates the feature for work that outlives its request. */
export function jobs({ queue, database, isEnabled, retentionDays }: JobsDeps): Feature {
  queue.define(
    housekeeping('job_retention', async ({ retention_days = retentionDays }) => {
      await deleteFinishedJobs(database, retention_days)
      await correctJobCounts(database)
    }),
  )
  return {
    name: 'jobs',
    routes: (app) => addJobOperations(app, isEnabled, { database, queue }, jobOperations),
    start: () => queue.start(),
    stop: () => queue.stop(),
  }
}
