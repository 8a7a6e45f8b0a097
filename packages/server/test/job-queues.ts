import { pino } from 'pino'
import { Notifications } from '../src/database/notifications/notifications.ts'
import { createJobQueue } from '../src/features/events/jobs/index.ts'
import type { JobQueue, JobType } from '../src/job-queue.ts'
import type { TestApp } from './test-app.ts'

export interface TestQueueOptions {
  readonly isWorking?: boolean
  readonly concurrency?: number
  /** Seconds that running jobs may take when the queue stops. */
  readonly stopTimeout?: number
}

/** Opens the queue of another node on the app's database, with other types of jobs. */
export async function openTestQueue(
  app: TestApp,
  types: readonly JobType<object>[],
  { isWorking = true, concurrency = 10, stopTimeout = 5 }: TestQueueOptions = {},
): Promise<JobQueue & AsyncDisposable> {
  const { system, openListener } = app.app.database
  const log = pino({ level: 'silent' })
  const notifications = new Notifications({ database: system, openListener, log })
  const queue = createJobQueue({
    database: system,
    notifications,
    isWorking,
    concurrency,
    stopTimeout,
    log,
  })
  for (const type of types) queue.define(type)
  await queue.start()
  await notifications.start()
  const stop = async () => {
    await notifications.stop()
    await queue.stop()
  }
  return { ...queue, stop, [Symbol.asyncDispose]: stop }
}

/** Makes a type of job whose work the test defines. */
export function jobType(
  name: string,
  handle: JobType<object>['handle'],
  options: Partial<JobType<object>> = {},
): JobType<object> {
  const retry = { attempts: 3, delay: 1, delayMax: 1, backoff: 2 }
  return { name, retry, timeout: 60, handle, ...options }
}
