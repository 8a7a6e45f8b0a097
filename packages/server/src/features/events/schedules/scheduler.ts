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
 * Scheduler that adds the jobs of due schedules. It runs on every node, in one worker. One transaction claims a schedule, advances it
 * and adds its job, by the clock of the database. So each run happens once, whichever node finds it first. All runs
 * that were missed while no node was up become one. The next poll of the node’s loop notices a run, within half a
 * second.
 */
export class Scheduler {
  readonly #options: SchedulerOptions
  #running: Promise<void> | undefined
  #state: 'new' | 'running' | 'stopped' = 'new'

  constructor(options: SchedulerOptions) {
    this.#options = options
    options.notifications.watch({
      topic: 'schedules',
      // The version differs at every poll while a schedule is due, because the node that has claimed it may fail.
      version: () => sql`
        select clock_timestamp() from basalt.schedules
        where enabled and next_run_at <= now() and job_type = any (${[...options.queue.listTypes()]}::text[])
        limit 1`,
      isForLeader: () => true,
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
    let hasRun = false
    while (this.#state === 'running' && (await this.#runNext())) hasRun = true
    if (hasRun) this.#options.queue.wake()
  }

  /** Adds the job of one due schedule. Returns false if none is due. */
  async #runNext(): Promise<boolean> {
    const { database, queue, log } = this.#options
    // Nodes of a newer version run the job types that this version does not know.
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

/**
 * Finds the next run. Returns null for a schedule that was written directly into the table and that the API would
 * reject.
 */
function findNext({ cronExpr, timezone }: Schedule, after: Date): Date | null {
  const expression = parseCronExpression(cronExpr)
  if (expression === undefined || !isTimeZone(timezone)) return null
  return findNextRun(expression, timezone, after) ?? null
}
