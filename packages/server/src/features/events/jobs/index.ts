import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { createJobAdministration } from './administration.ts'
import type { JobQueue } from './queue.ts'
import { jobRoutes } from './routes.ts'

export { requireJobType } from './administration.ts'
export { jobErrorTable } from './errors.ts'
export { deleteFinishedJobRows } from './job-rows.ts'
export { JobRefused, type JobType, type RunningJob } from './job-type.ts'
export { createJobQueue, type EnqueueOptions, type JobQueue } from './queue.ts'
export { refuseWhileDisabled } from './routes.ts'
export { maxAttemptsSchema, payloadSchema } from './schemas.ts'

export interface JobsDeps {
  readonly queue: JobQueue
  readonly database: SystemDatabase
  /** Whether this node works on jobs; else their administration is refused. */
  readonly isEnabled: boolean
}

/** Work that outlives the request that asked for it. */
export function jobs({ queue, database, isEnabled }: JobsDeps): Feature {
  return {
    name: 'jobs',
    routes: (app) => jobRoutes(app, createJobAdministration(database, queue), isEnabled),
    start: () => queue.start(),
    stop: () => queue.stop(),
  }
}
