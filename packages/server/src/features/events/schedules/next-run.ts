import type { CronExpression } from './cron-expression.ts'
import { createTimeZone } from './time-zone.ts'

const dayMs = 86_400_000
const secondMs = 1000

/**
 * Finds the first run after an instant, by the clocks of a time zone.
 *
 * When clocks move forward, all runs in the skipped period become one run, right after it. When they move back, a run
 * in the repeated period happens once, the first time. A schedule for every hour follows elapsed time instead. It runs
 * in both repeated hours and makes up for no skipped one.
 *
 * @returns undefined if there is none
 */
export function findNextRun(expression: CronExpression, timeZone: string, after: Date): Date | undefined {
  const zone = createTimeZone(timeZone)
  const { isEveryHour } = expression
  let at = after.getTime()
  let offset = zone.offsetAt(at)
  /** Latest clock time whose runs are done. */
  let done = at + offset
  const latest = isEveryHour ? undefined : zone.findChange(at - dayMs, at)
  if (latest !== undefined) done = Math.max(done, latest.at + latest.before - secondMs)
  for (;;) {
    const local = expression.nextAfter(done)
    if (local === undefined) return undefined
    // Runs that fall into the skipped period before `at` happen now.
    const run = Math.max(local - offset, at)
    const change = zone.findChange(at, run)
    if (change === undefined) return new Date(run)
    at = change.at
    offset = change.after
    done = at - secondMs + (isEveryHour ? change.after : change.before)
  }
}
