import type { CronExpression } from './cron-expression.ts'
import { createTimeZone, type TimeZone } from './time-zone.ts'

const minuteMs = 60_000
const hourMs = 3_600_000
const dayMs = 86_400_000
/** 29 February comes after eight years at the latest. */
const horizonDays = 9 * 366

/**
 * The first run after an instant, by the clocks of a time zone.
 *
 * Where clocks are put forward, what falls into the gap runs once, right after it. Where they are put back, what falls
 * into the repeated time runs once, the first time. A schedule for every hour follows the time that passes instead: it
 * runs in both of the repeated hours and makes up for none that was skipped.
 *
 * @returns undefined when there is none within nine years
 */
export function findNextRun(expression: CronExpression, timeZone: string, after: Date): Date | undefined {
  const zone = createTimeZone(timeZone)
  const from = after.getTime()
  const today = Math.floor(zone.localTime(from) / dayMs) * dayMs
  // Yesterday too: what falls into a gap at midnight runs after it.
  for (let day = -1; day < horizonDays; day += 1) {
    const date = today + day * dayMs
    if (!isOnDay(expression, date)) continue
    const run = findRunOnDay(expression, zone, date, from)
    if (run !== undefined) return new Date(run)
  }
  return undefined
}

function isOnDay({ days, months, weekdays, isEitherDay }: CronExpression, date: number): boolean {
  const read = new Date(date)
  if (!months.has(read.getUTCMonth() + 1)) return false
  const isDay = days.has(read.getUTCDate())
  const isWeekday = weekdays.has(read.getUTCDay())
  return isEitherDay ? isDay || isWeekday : isDay && isWeekday
}

/** The earliest run of a local date that is later than an instant. */
function findRunOnDay(
  { minutes, hours }: CronExpression,
  zone: TimeZone,
  date: number,
  from: number,
): number | undefined {
  const isEveryHour = hours.length === 24
  const day = zone.readDay(date)
  let earliest: number | undefined
  for (const hour of hours) {
    for (const minute of minutes) {
      const local = date + hour * hourMs + minute * minuteMs
      const runs = isEveryHour ? day.instantsOf(local) : [day.firstInstantOf(local)]
      for (const run of runs) if (run > from && (earliest === undefined || run < earliest)) earliest = run
    }
  }
  return earliest
}
