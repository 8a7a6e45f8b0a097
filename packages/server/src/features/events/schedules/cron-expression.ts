/** A cron expression of five fields, parsed. */
export interface CronExpression {
  /** 0 to 59, ascending; the hours likewise. */
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly days: ReadonlySet<number>
  /** 1 is January. */
  readonly months: ReadonlySet<number>
  /** 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>
  /** Where both the day of the month and the weekday are restricted, either of them suffices (POSIX crontab). */
  readonly isEitherDay: boolean
}

interface Field {
  readonly first: number
  readonly last: number
  readonly names?: readonly string[]
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const minuteField: Field = { first: 0, last: 59 }
const hourField: Field = { first: 0, last: 23 }
const dayField: Field = { first: 1, last: 31 }
const monthField: Field = { first: 1, last: 12, names: months }
/** 7 is Sunday too. */
const weekdayField: Field = { first: 0, last: 7, names: weekdays }

const longestExpression = 256

/** `*\/15 9-17 * * mon-fri`; undefined when it is no cron expression, or names a day that no year has. */
export function parseCronExpression(text: string): CronExpression | undefined {
  const fields = text.trim().split(/[ \t]+/)
  if (text.length > longestExpression || fields.length !== 5) return undefined
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields
  const minutesFound = parseField(minute, minuteField)
  const hoursFound = parseField(hour, hourField)
  const days = parseField(day, dayField)
  const monthsFound = parseField(month, monthField)
  const weekdaysFound = parseField(weekday, weekdayField)
  if (!minutesFound || !hoursFound || !days || !monthsFound || !weekdaysFound) return undefined
  const expression: CronExpression = {
    minutes: [...minutesFound].sort(byValue),
    hours: [...hoursFound].sort(byValue),
    days,
    months: monthsFound,
    weekdays: new Set([...weekdaysFound].map((number) => number % 7)),
    isEitherDay: !day.startsWith('*') && !weekday.startsWith('*'),
  }
  return hasDays(expression) ? expression : undefined
}

function byValue(left: number, right: number): number {
  return left - right
}

/** Days of each month in a leap year. */
const longestMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

function hasDays({ days, months: wanted, isEitherDay }: CronExpression): boolean {
  if (isEitherDay) return true
  const earliest = Math.min(...days)
  return [...wanted].some((month) => earliest <= (longestMonths[month - 1] ?? 0))
}

/** The numbers a field stands for. */
function parseField(text: string, field: Field): Set<number> | undefined {
  const numbers = new Set<number>()
  for (const part of text.split(',')) {
    const range = parsePart(part, field)
    if (range === undefined) return undefined
    for (let number = range.from; number <= range.to; number += range.step) numbers.add(number)
  }
  return numbers
}

/** `*`, `5`, `mon-fri`, `10-40`, each with `/step`; a single number with a step goes on to the end. */
function parsePart(text: string, field: Field): { from: number; to: number; step: number } | undefined {
  const found = /^(?:(\*)|([0-9a-z]+)(?:-([0-9a-z]+))?)(?:\/([0-9]{1,3}))?$/i.exec(text)
  if (found === null) return undefined
  const [, star, low = '', high, every] = found
  const step = every === undefined ? 1 : Number(every)
  if (step < 1) return undefined
  // As a weekday both 0 and 7 would be Sunday.
  if (star !== undefined) return { from: field.first, to: field === weekdayField ? 6 : field.last, step }
  const from = parseNumber(low, field)
  const to = high === undefined ? from : parseNumber(high, field)
  if (from === undefined || to === undefined || to < from) return undefined
  return { from, to: high === undefined && every !== undefined ? field.last : to, step }
}

function parseNumber(text: string, { first, last, names = [] }: Field): number | undefined {
  const index = names.indexOf(text.toLowerCase())
  if (index >= 0) return index + first
  if (!/^[0-9]{1,2}$/.test(text)) return undefined
  const number = Number(text)
  return number >= first && number <= last ? number : undefined
}
