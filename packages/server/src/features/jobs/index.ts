import type { Feature } from '../../feature.ts'
import type { JobQueue } from './queue.ts'

export { JobRefused, type JobType, type RunningJob } from './job-type.ts'
export { createJobQueue, type JobQueue } from './queue.ts'

/** Work that outlives the request that asked for it. */
export function jobs(queue: JobQueue): Feature {
  return { name: 'jobs', start: () => queue.start(), stop: () => queue.stop() }
}
