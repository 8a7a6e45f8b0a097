import type { Database } from '../../../database/open.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { matviewOperations } from './operations.ts'
import { createRefresher } from './refresh.ts'
import { refreshJob } from './refresh-job.ts'

export { matviewErrorTable } from './errors.ts'

export interface MatviewsDeps {
  readonly database: Pick<Database, 'system' | 'aside'>
  readonly queue: JobQueue
  /** Maximum duration of a refresh in seconds. */
  readonly refreshTimeout: number
}

/** Creates the feature that registers materialized views, and refreshes them on request or by schedule. */
export function matviews({ database, queue, refreshTimeout }: MatviewsDeps): Feature {
  const { system, aside } = database
  const refresher = createRefresher({ database: system, aside, timeoutSeconds: refreshTimeout })
  queue.define(refreshJob(system, refresher, refreshTimeout))
  return {
    name: 'matviews',
    routes: (app) => addOperations(app, { database: system, refresher }, matviewOperations),
    stop: () => refresher.stop(),
  }
}
