import type { CronExpression } from './cron-expression.ts'
import { createTimeZone } from './time-zone.ts'

const dayMs = 86_400_000
const secondMs = 1000

/**
 * The first run after an instant, by the clocks of a time zone.
 *
 * Where clocks are put forward, what falls into the gap runs once, right after it. Where they are put back, what falls
 * into the repeated time runs once, the first time. A schedule for every hour follows the time that passes instead: it
 * runs in both of the repeated hours and makes up for none that was skipped.
 *
 * @returns undefined when there is none
 */
export function findNextRun(expression: CronExpression, timeZone: string, after: Date): Date | undefined {
  const zone = createTimeZone(timeZone)
  const { isEveryHour } = expression
  let at = after.getTime()
  let offset = zone.offsetAt(at)
  /** The latest clock reading whose runs are done. */
  let done = at + offset
  const latest = isEveryHour ? undefined : zone.findChange(at - dayMs, at)
  if (latest !== undefined) done = Math.max(done, latest.at + latest.before - secondMs)
  for (;;) {
    const local = expression.nextAfter(done)
    if (local === undefined) return undefined
    // What falls into the gap before `at` runs now.
    const run = Math.max(local - offset, at)
    const change = zone.findChange(at, run)
    if (change === undefined) return new Date(run)
    at = change.at
    offset = change.after
    done = at - secondMs + (isEveryHour ? change.after : change.before)
  }
}
