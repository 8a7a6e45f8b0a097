import { Cron } from 'croner'

/** Cron expression of five fields, without a time zone. */
export interface CronExpression {
  /**
   * Returns the first matching time after another. Clock times are given as the milliseconds that UTC would have then.
   */
  nextAfter(local: number): number | undefined
  /** True if the expression matches each of the 24 hours. */
  readonly isEveryHour: boolean
}

const longestExpression = 256
/**
 * Field of numbers, names, `*`, ranges, lists and steps. Extensions of libraries such as `L`, `#` and `@daily` are
 * rejected.
 */
const plainField = /^(?:[0-9*,/-]|[a-z]{3})+$/i

/**
 * Parses an expression such as `*\/15 9-17 * * mon-fri`. Returns undefined if it is invalid or names a day that no year
 * has.
 */
export function parseCronExpression(text: string): CronExpression | undefined {
  const fields = text.trim().split(/[ \t]+/)
  const [, hour = '', day = '', month = '', weekday = ''] = fields
  if (text.length > longestExpression || fields.length !== 5) return undefined
  if (!fields.every((field) => plainField.test(field))) return undefined
  // If both the day of the month and the weekday are restricted, a match of either is enough (POSIX crontab).
  const domAndDow = day.startsWith('*') || weekday.startsWith('*')
  const cron = readCron(fields.join(' '), domAndDow)
  if (cron === undefined) return undefined
  // For a day that no year has, the library recurses until the stack overflows. Every month has each weekday.
  const days = readCron(`0 0 ${day} ${month} *`, true)
  if (domAndDow && !leapYear.some((date) => days?.match(date))) return undefined
  const hours = readCron(`0 ${hour} * * *`, true)
  return {
    nextAfter: (local) => cron.nextRun(new Date(local))?.getTime(),
    isEveryHour: wholeDay.every((time) => hours?.match(time)),
  }
}

/** First moment of each day of a leap year. */
const leapYear = Array.from({ length: 366 }, (_, day) => new Date(Date.UTC(2000, 0, 1 + day)))
const wholeDay = Array.from({ length: 24 }, (_, hour) => new Date(Date.UTC(2000, 0, 1, hour)))

function readCron(expression: string, domAndDow: boolean): Cron | undefined {
  try {
    // Sloppy ranges let a single number with a step continue to the end.
    return new Cron(expression, { mode: '5-part', utcOffset: 0, sloppyRanges: true, domAndDow })
  } catch {
    return undefined
  }
}
