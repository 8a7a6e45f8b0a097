import { Cron } from 'croner'

/** A cron expression of five fields, without a time zone. */
export interface CronExpression {
  /** The first time it names after another; clock readings as the number of milliseconds that UTC would have then. */
  nextAfter(local: number): number | undefined
  /** Whether it names each of the 24 hours. */
  readonly isEveryHour: boolean
}

const longestExpression = 256
/** Numbers, names, `*`, ranges, lists and steps: without what libraries add to them, such as `L`, `#` and `@daily`. */
const plainField = /^(?:[0-9*,/-]|[a-z]{3})+$/i

/** `*\/15 9-17 * * mon-fri`; undefined when it is no cron expression, or names a day that no year has. */
export function parseCronExpression(text: string): CronExpression | undefined {
  const fields = text.trim().split(/[ \t]+/)
  const [, hour = '', day = '', month = '', weekday = ''] = fields
  if (text.length > longestExpression || fields.length !== 5) return undefined
  if (!fields.every((field) => plainField.test(field))) return undefined
  // Where both the day of the month and the weekday are restricted, either of them suffices (POSIX crontab).
  const domAndDow = day.startsWith('*') || weekday.startsWith('*')
  const cron = readCron(fields.join(' '), domAndDow)
  if (cron === undefined) return undefined
  // Looking for a day that no year has, the library recurses until the stack is full. Any month has each weekday.
  const days = readCron(`0 0 ${day} ${month} *`, true)
  if (domAndDow && !leapYear.some((date) => days?.match(date))) return undefined
  const hours = readCron(`0 ${hour} * * *`, true)
  return {
    nextAfter: (local) => cron.nextRun(new Date(local))?.getTime(),
    isEveryHour: wholeDay.every((time) => hours?.match(time)),
  }
}

/** The first moment of each day. */
const leapYear = Array.from({ length: 366 }, (_, day) => new Date(Date.UTC(2000, 0, 1 + day)))
const wholeDay = Array.from({ length: 24 }, (_, hour) => new Date(Date.UTC(2000, 0, 1, hour)))

function readCron(expression: string, domAndDow: boolean): Cron | undefined {
  try {
    // Sloppy: a single number with a step continues to the end.
    return new Cron(expression, { mode: '5-part', utcOffset: 0, sloppyRanges: true, domAndDow })
  } catch {
    return undefined
  }
}
