import { pino } from 'pino'
import { createJobQueue } from '../src/features/events/jobs/index.ts'
import type { JobQueue, JobType } from '../src/job-queue.ts'
import type { TestApp } from './test-app.ts'

export interface TestQueueOptions {
  readonly isWorking?: boolean
  readonly concurrency?: number
  /** Seconds that running jobs may take when the queue stops. */
  readonly stopTimeout?: number
}

/** The queue of another node on the app's database, which knows other types of jobs. */
export async function openTestQueue(
  app: TestApp,
  types: readonly JobType<object>[],
  { isWorking = true, concurrency = 10, stopTimeout = 5 }: TestQueueOptions = {},
): Promise<JobQueue & AsyncDisposable> {
  const queue = createJobQueue({
    database: app.app.database.system,
    isWorking,
    concurrency,
    retentionDays: 7,
    stopTimeout,
    log: pino({ level: 'silent' }),
  })
  for (const type of types) queue.define(type)
  await queue.start()
  return { ...queue, [Symbol.asyncDispose]: () => queue.stop() }
}

/** A type of job that does what the test says. */
export function jobType(
  name: string,
  handle: JobType<object>['handle'],
  options: Partial<JobType<object>> = {},
): JobType<object> {
  return { name, retries: 2, retryDelay: 1, retryDelayMax: 1, timeout: 60, handle, ...options }
}
