import type { Logger } from 'pino'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { parseCronExpression } from './cron-expression.ts'
import { findNextRun } from './next-run.ts'
import { advanceSchedule, claimDueSchedule, type Schedule } from './schedule.ts'
import { isTimeZone } from './time-zone.ts'

export interface SchedulerOptions {
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly notifications: Pick<Notifications, 'watch'>
  readonly log: Logger
}

/**
 * Adds the jobs of schedules that are due. Every node does so: claiming a schedule, advancing it and adding its job are
 * one transaction, by the clock of the database, so each run happens once, whichever node sees it first. Runs that were
 * missed while no node was up become one. A run is noticed by the next look of the node's loop, within half a second.
 */
export class Scheduler {
  readonly #options: SchedulerOptions
  #running: Promise<void> | undefined
  #state: 'new' | 'running' | 'stopped' = 'new'

  constructor(options: SchedulerOptions) {
    this.#options = options
    options.notifications.watch({
      topic: 'schedules',
      // Another one at every look while a schedule is due: the node that has claimed it may fail.
      version: () => sql`
        select clock_timestamp() from basalt.schedules
        where enabled and next_run_at <= now() and job_type = any (${[...options.queue.listTypes()]}::text[])
        limit 1`,
      onChange: (version) => {
        if (version === null || this.#state !== 'running') return undefined
        this.#running = this.#runDue()
        return this.#running
      },
    })
  }

  start(): void {
    this.#state = 'running'
  }

  async stop(): Promise<void> {
    this.#state = 'stopped'
    await this.#running?.catch(() => undefined)
  }

  async #runDue(): Promise<void> {
    let isAny = false
    while (this.#state === 'running' && (await this.#runNext())) isAny = true
    if (isAny) this.#options.queue.wake()
  }

  /** Whether one was due. */
  async #runNext(): Promise<boolean> {
    const { database, queue, log } = this.#options
    // Jobs of types that a newer version brought are run by nodes of that version.
    const types = queue.listTypes()
    return await database.transaction(async (transaction) => {
      const due = await claimDueSchedule(transaction, types)
      if (due === undefined) return false
      const next = findNext(due, due.now)
      if (next === null) {
        log.error({ schedule: due.name }, 'schedule disabled: its next run cannot be computed')
      } else {
        const options = { maxAttempts: due.maxAttempts, scheduleId: due.id }
        await queue.enqueue(due.jobType, due.payload, transaction, options)
      }
      await advanceSchedule(transaction, due.id, next)
      return true
    })
  }
}

/** Null for a schedule that was written into the table and that the API would have refused. */
function findNext({ cronExpr, timezone }: Schedule, after: Date): Date | null {
  const expression = parseCronExpression(cronExpr)
  if (expression === undefined || !isTimeZone(timezone)) return null
  return findNextRun(expression, timezone, after) ?? null
}
