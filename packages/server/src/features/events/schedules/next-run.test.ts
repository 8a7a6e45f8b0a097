import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseCronExpression } from './cron-expression.ts'
import { findNextRun } from './next-run.ts'

function runs(expression: string, zone: string, after: string, count: number): string[] {
  const parsed = parseCronExpression(expression)
  if (parsed === undefined) throw new Error(`${expression} is no cron expression`)
  const found: string[] = []
  let from = new Date(after)
  while (found.length < count) {
    const next = findNextRun(parsed, zone, from)
    if (next === undefined) throw new Error('no further run')
    found.push(next.toISOString().replace(':00.000Z', 'Z'))
    from = next
  }
  return found
}

describe('next run › clocks moved forward', () => {
  test.each([
    // Berlin, 29 March 2026: 02:00 becomes 03:00 at 01:00Z.
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:30Z']],
    ['15,45 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:15Z']],
    ['0 2,3 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:00Z']],
    ['30 * * * *', 'Europe/Berlin', '2026-03-29T00:00Z', ['2026-03-29T00:30Z', '2026-03-29T01:30Z']],
    // The change is at midnight.
    ['30 0 * * *', 'America/Sao_Paulo', '2018-11-03T12:00Z', ['2018-11-04T03:00Z', '2018-11-05T02:30Z']],
    // The change is half an hour.
    ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z', ['2026-10-03T15:30Z', '2026-10-04T15:15Z']],
    // The change is a whole day: there was no 30 December.
    ['0 12 30 12 *', 'Pacific/Apia', '2011-12-01T00:00Z', ['2011-12-30T10:00Z', '2012-12-29T22:00Z']],
  ])('%s in %s runs once, right after the skipped period', (expression, zone, after, expected) => {
    expect(runs(expression, zone, after, expected.length)).toEqual(expected)
  })
})

describe('next run › clocks moved back', () => {
  test.each([
    // Berlin, 25 October 2026: 03:00 becomes 02:00 at 01:00Z.
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', ['2026-10-25T00:30Z', '2026-10-26T01:30Z']],
    ['30 2 * * *', 'Europe/Berlin', '2026-10-25T01:10Z', ['2026-10-26T01:30Z']],
    ['45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T12:00Z', ['2026-04-04T14:45Z', '2026-04-05T15:15Z']],
    [
      '0 */2 * * *',
      'Europe/Berlin',
      '2026-10-24T22:30Z',
      ['2026-10-25T00:00Z', '2026-10-25T03:00Z', '2026-10-25T05:00Z'],
    ],
    // A schedule for every hour runs in both hours.
    [
      '0 * * * *',
      'Europe/Berlin',
      '2026-10-24T23:30Z',
      ['2026-10-25T00:00Z', '2026-10-25T01:00Z', '2026-10-25T02:00Z', '2026-10-25T03:00Z'],
    ],
  ])('%s in %s runs the first time', (expression, zone, after, expected) => {
    expect(runs(expression, zone, after, expected.length)).toEqual(expected)
  })
})

describe('next run › days', () => {
  test.each([
    ['0 0 29 2 *', '2026-01-01T00:00Z', ['2028-02-29T00:00Z', '2032-02-29T00:00Z']],
    ['0 0 29 2 *', '2096-03-01T00:00Z', ['2104-02-29T00:00Z']],
    ['0 0 31 * *', '2026-01-31T00:00Z', ['2026-03-31T00:00Z', '2026-05-31T00:00Z']],
    // A match of either day field is enough.
    ['0 0 13 * fri', '2026-03-01T00:00Z', ['2026-03-06T00:00Z', '2026-03-13T00:00Z', '2026-03-20T00:00Z']],
    ['0 0 13 * 1', '2026-03-10T00:00Z', ['2026-03-13T00:00Z', '2026-03-16T00:00Z']],
    // Both day fields must match, because one begins with a star.
    ['0 0 */10 * sun', '2026-03-01T00:00Z', ['2026-05-31T00:00Z', '2026-06-21T00:00Z']],
    ['0 0 * * 7', '2026-03-01T00:00Z', ['2026-03-08T00:00Z']],
    ['0 9 1 JAN,jul *', '2026-03-01T00:00Z', ['2026-07-01T09:00Z', '2027-01-01T09:00Z']],
    ['7/20 9 * * mon-wed/2', '2026-03-01T00:00Z', ['2026-03-02T09:07Z', '2026-03-02T09:27Z']],
    ['  5  4\t* * * ', '2026-03-01T00:00Z', ['2026-03-01T04:05Z']],
  ])('finds the runs of %s after %s', (expression, after, expected) => {
    expect(runs(expression, 'UTC', after, expected.length)).toEqual(expected)
  })
})

describe('cron expression › invalid', () => {
  test.each([
    '',
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * 32 * *',
    '* * * 13 *',
    '* * * 0 *',
    '* * * * 8',
    '*/0 * * * *',
    '5-1 * * * *',
    '1,,2 * * * *',
    '1- * * * *',
    '-1 * * * *',
    '1.5 * * * *',
    'a * * * *',
    '* * * mon *',
    '* * * * jan',
    '@daily',
    '0 0 L * *',
    '0 0 ? * *',
    '0 0 30 2 *',
    '0 0 31 2,4,6 *',
    '0 0 * * *; drop table',
    '٣ * * * *',
    `${'1,'.repeat(126)}1 * * * *`,
  ])('rejects %j', (text) => {
    expect(parseCronExpression(text)).toBeUndefined()
  })
})

test('cron expression › accepts a day that no year has beside a weekday, because either is enough', () => {
  const next = parseCronExpression('0 0 31 2 1')?.nextAfter(Date.UTC(2026, 0, 1))
  expect(next).toBe(Date.UTC(2026, 1, 2))
})

/** Days before, on and after clock changes, and ordinary days. */
const moments: readonly (readonly [string, string])[] = [
  ['UTC', '2026-02-27'],
  ['Europe/Berlin', '2026-03-28'],
  ['Europe/Berlin', '2026-10-24'],
  ['America/New_York', '2026-03-07'],
  ['America/New_York', '2026-10-31'],
  ['America/Sao_Paulo', '2018-11-03'],
  ['America/Sao_Paulo', '2018-02-17'],
  ['Australia/Lord_Howe', '2026-10-02'],
  ['Australia/Lord_Howe', '2026-04-04'],
  ['Africa/Casablanca', '2026-02-14'],
  ['Pacific/Apia', '2011-12-28'],
  ['Asia/Kathmandu', '2026-05-01'],
  ['America/St_Johns', '2026-03-07'],
]

/** Local clock times in each minute of three days, by zone and day. */
const minutesOf = new Map<string, readonly { at: number; local: number }[]>()

function readMinutes(zone: string, day: string) {
  const key = `${zone} ${day}`
  const known = minutesOf.get(key)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' })
  const start = Date.parse(`${day}T00:00Z`)
  const minutes = Array.from({ length: 3 * 1440 }, (_, index) => {
    const at = start + index * 60_000
    return { at, local: Date.parse(`${format.format(at).replace(' ', 'T')}Z`) }
  })
  minutesOf.set(key, minutes)
  return minutes
}

interface Fields {
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly weekdays: readonly number[]
}

function matches({ minutes, hours, weekdays }: Fields, local: number): boolean {
  const read = new Date(local)
  return (
    minutes.includes(read.getUTCMinutes()) &&
    hours.includes(read.getUTCHours()) &&
    weekdays.includes(read.getUTCDay())
  )
}

/** Simulates a clock, minute by minute. */
function simulate(fields: Fields, zone: string, day: string): number[] {
  const isEveryHour = fields.hours.length === 24
  const shown = new Set<number>()
  const found: number[] = []
  let latest: number | undefined
  for (const { at, local } of readMinutes(zone, day)) {
    let isDue = matches(fields, local) && (isEveryHour || !shown.has(local))
    if (!isEveryHour && latest !== undefined) {
      for (let skipped = latest + 60_000; skipped < local; skipped += 60_000) {
        if (!shown.has(skipped) && matches(fields, skipped)) isDue = true
      }
    }
    if (isDue) found.push(at)
    shown.add(local)
    latest = Math.max(latest ?? local, local)
  }
  return found
}

function subset(first: number, last: number): fc.Arbitrary<number[]> {
  const all = Array.from({ length: last - first + 1 }, (_, index) => first + index)
  return fc.oneof(fc.constant(all), fc.subarray(all, { minLength: 1, maxLength: 6 }))
}

test('next run › equals the run that a simulated clock finds minute by minute', () => {
  const fields = fc.record({ minutes: subset(0, 59), hours: subset(0, 23), weekdays: subset(0, 6) })
  const property = fc.property(
    fc.constantFrom(...moments),
    fields,
    fc.nat(1440),
    ([zone, day], chosen, wait) => {
      const { minutes, hours, weekdays } = chosen
      const list = (numbers: readonly number[], whole: number) =>
        numbers.length === whole ? '*' : numbers.join(',')
      const text = `${list(minutes, 60)} ${list(hours, 24)} * * ${list(weekdays, 7)}`
      const expression = parseCronExpression(text)
      if (expression === undefined) throw new Error(text)
      const start = Date.parse(`${day}T00:00Z`)
      // The simulation has covered a whole day by then, so it knows what was skipped or repeated before.
      const after = start + 1440 * 60_000 - 60_000 + wait * 60_000
      const expected = simulate(chosen, zone, day)
        .filter((at) => at > after)
        .slice(0, 5)
      let from = new Date(after)
      for (const at of expected) {
        const next = findNextRun(expression, zone, from)
        expect([text, zone, next?.toISOString()]).toEqual([text, zone, new Date(at).toISOString()])
        from = new Date(at)
      }
    },
  )
  fc.assert(property, { numRuns: 400 })
})
