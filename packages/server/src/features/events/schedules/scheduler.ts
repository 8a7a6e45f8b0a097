import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { messageOf } from '../../../lib/errors.ts'
import { parseCronExpression } from './cron-expression.ts'
import { findNextRun } from './next-run.ts'
import { advanceSchedule, claimDueSchedule, type ScheduleRow } from './queries.ts'
import { isTimeZone } from './time-zone.ts'

/** How late a run may begin. */
const tickMs = 500

export interface SchedulerOptions {
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly log: Logger
}

/**
 * Adds the jobs of schedules that are due. Every node does so: claiming a schedule, moving it on and adding its job are
 * one transaction, by the clock of the database, so each run happens once, whichever node sees it first. Runs that were
 * missed while no node was up become one.
 */
export class Scheduler {
  readonly #options: SchedulerOptions
  #timer: NodeJS.Timeout | undefined
  #ticking: Promise<void> | undefined
  #isStopped = false
  #isFailing = false

  constructor(options: SchedulerOptions) {
    this.#options = options
  }

  start(): void {
    this.#schedule()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#ticking
  }

  #schedule(): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(() => {
      this.#ticking = this.#tick()
    }, tickMs)
  }

  async #tick(): Promise<void> {
    const { log, queue } = this.#options
    try {
      let isAny = false
      while (!this.#isStopped && (await this.#runNext())) isAny = true
      if (isAny) queue.wake()
      this.#isFailing = false
    } catch (error) {
      // Once per outage.
      if (!this.#isFailing) log.warn({ reason: messageOf(error) }, 'failed to look for due schedules')
      this.#isFailing = true
    }
    this.#schedule()
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
      if (next === null) log.error({ schedule: due.name }, 'schedule disabled: it has no next time')
      else {
        const options = { maxAttempts: due.max_attempts, scheduleId: due.id }
        await queue.enqueue(due.job_type, due.payload, transaction, options)
      }
      await advanceSchedule(transaction, due.id, next)
      return true
    })
  }
}

/** Null for a schedule that was written by SQL and that the API would have refused. */
function findNext({ cron_expr, timezone }: ScheduleRow, after: Date): Date | null {
  const expression = parseCronExpression(cron_expr)
  if (expression === undefined || !isTimeZone(timezone)) return null
  return findNextRun(expression, timezone, after) ?? null
}
