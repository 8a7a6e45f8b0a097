import type { Logger } from 'pino'
import type { Notifications } from '../../../database/notifications.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { DueLoop } from '../queue/index.ts'
import { parseCronExpression } from './cron-expression.ts'
import { findNextRun } from './next-run.ts'
import {
  advanceSchedule,
  claimDueSchedule,
  findNextDueMs,
  type ScheduleRow,
  schedulesVersion,
} from './queries.ts'
import { isTimeZone } from './time-zone.ts'

const topic = 'schedules'

export interface SchedulerOptions {
  readonly database: SystemDatabase
  readonly notifications: Pick<Notifications, 'watch'>
  readonly queue: JobQueue
  readonly log: Logger
}

/**
 * Adds the jobs of schedules that are due. Every node does so: claiming a schedule, advancing it and adding its job are
 * one transaction, by the clock of the database, so each run happens once, whichever node sees it first. Runs that were
 * missed while no node was up become one.
 */
export function createScheduler({ database, notifications, queue, log }: SchedulerOptions): DueLoop {
  /** Whether one was due. */
  async function runNext(): Promise<boolean> {
    return await database.transaction(async (transaction) => {
      // Jobs of types that a newer version brought are left to nodes of that version.
      const due = await claimDueSchedule(transaction, queue.listTypes())
      if (due === undefined) return false
      const next = findNext(due, due.now)
      if (next === null) {
        log.error({ schedule: due.name }, 'schedule disabled: its next run cannot be computed')
      } else {
        const options = { maxAttempts: due.max_attempts, scheduleId: due.id }
        await queue.enqueue(due.job_type, due.payload, transaction, options)
      }
      await advanceSchedule(transaction, due.id, next)
      return true
    })
  }

  const loop = new DueLoop({
    what: 'schedules',
    restMs: 0,
    log,
    async look() {
      let isAny = false
      while (!loop.isStopped && (await runNext())) isAny = true
      if (isAny) queue.wake()
      return await findNextDueMs(database, queue.listTypes())
    },
  })
  notifications.watch({ topic, version: schedulesVersion, onChange: () => loop.wake() })
  return loop
}

/** Null for a schedule that was written into the table and that the API would have refused. */
function findNext({ cron_expr, timezone }: ScheduleRow, after: Date): Date | null {
  const expression = parseCronExpression(cron_expr)
  if (expression === undefined || !isTimeZone(timezone)) return null
  return findNextRun(expression, timezone, after) ?? null
}
