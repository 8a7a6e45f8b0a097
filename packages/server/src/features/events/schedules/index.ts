import type { Logger } from 'pino'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { addJobOperations } from '../jobs/index.ts'
import { scheduleOperations } from './operations.ts'
import { Scheduler } from './scheduler.ts'

export { scheduleErrorTable } from './errors.ts'
export {
  type FunctionSchedule,
  findScheduleProblem,
  functionPrefix,
  replaceFunctionSchedules,
} from './function-schedules.ts'

export interface SchedulesDeps {
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly notifications: Pick<Notifications, 'watch'>
  /** True if this node works on jobs. Otherwise it runs no schedules and refuses their administration. */
  readonly isEnabled: boolean
  readonly log: Logger
}

/** Creates the feature that adds jobs by the clock. It starts after the jobs feature. */
export function schedules({ database, queue, notifications, isEnabled, log }: SchedulesDeps): Feature {
  const scheduler = isEnabled ? new Scheduler({ database, queue, notifications, log }) : undefined
  return {
    name: 'schedules',
    routes: (app) => addJobOperations(app, isEnabled, { database, queue }, scheduleOperations),
    start: () => scheduler?.start(),
    stop: () => scheduler?.stop(),
  }
}
