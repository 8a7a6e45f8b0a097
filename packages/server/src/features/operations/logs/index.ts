import type { Logger } from 'pino'
import type { LoggingConfig } from '../../../config/logging.ts'
import type { DatabaseConfig } from '../../../database/config.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import type { Metrics } from '../../../http/observation/metrics.ts'
import { addOperations } from '../../../http/operation.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import type { Clock } from '../../../lib/clock.ts'
import { deleteLogs } from './log.ts'
import { logOperations } from './operations.ts'
import { deleteRequests } from './request.ts'
import type { LogStore } from './store.ts'
import { LogTails } from './tail.ts'
import { tailRoute } from './tail-route.ts'

export { logErrorTable } from './errors.ts'
export { levelNames } from './line.ts'
export {
  deleteLogs,
  type LogEntry,
  type LogFilter,
  listLatestLogs,
  listLogsSince,
  takeSnapshot,
} from './log.ts'
export { deleteRequests } from './request.ts'
export { LogStore } from './store.ts'

export interface LogsDeps {
  readonly config: { readonly logging: LoggingConfig; readonly database: DatabaseConfig }
  readonly database: SystemDatabase
  readonly store: LogStore
  readonly queue: JobQueue
  readonly metrics: Metrics
  readonly clock: Clock
  readonly log: Logger
}

/** Makes the feature of the log, requests and statements of all nodes. */
export function logs({ config, database, store, queue, metrics, clock, log }: LogsDeps): Feature {
  const { retention_days: days } = config.logging
  queue.define(
    housekeeping('log_retention', ({ retention_days = days }) => deleteLogs(database, retention_days)),
  )
  queue.define(
    housekeeping('request_log_retention', ({ retention_days = days }) =>
      deleteRequests(database, retention_days),
    ),
  )
  const tails = new LogTails({ database, log })
  return {
    name: 'logs',
    routes: (app) => {
      addOperations(
        app,
        { database, metrics, clock, node: store.node, config: config.database },
        logOperations,
      )
      tailRoute(app, database, tails)
    },
    start: () => store.start(),
    drain: () => tails.drain(),
    stop: () => store.stop(),
  }
}
