/**
 * Returns the time zone in a date and time for a type without one. PostgreSQL silently ignores it there (PostgreSQL,
 * Date/Time Input). UTC does not count: sessions are in UTC, so nothing is lost with it.
 */
export function findTimeZone(text: string): string | undefined {
  const [, date = '', rest = ''] = /^(\s*[+-]?\d+-\d{1,2}-\d{1,2})?(.*)$/s.exec(text) ?? []
  const time = timeOfDay.exec(rest)
  const around = time === null ? [rest] : [rest.slice(0, time.index), rest.slice(time.index + time[0].length)]
  const hasNumbers = date !== '' || time !== null
  for (const [index, part] of around.entries()) {
    // Before the time, a sign belongs to the date.
    const offset =
      hasNumbers && (time === null || index === 1) ? /[+-]\s*\d[\d:.]*/.exec(part)?.[0] : undefined
    if (offset !== undefined && /[1-9]/.test(offset)) return offset
    const name = part.match(/[a-z][a-z_]*(\/[a-z_/+-]+\d*)?/gi)?.find((word) => !isKnown(word))
    if (name !== undefined) return name
  }
  return undefined
}

const timeOfDay = /\d{1,2}:\d{1,2}(?::\d{1,2}(?:[.,]\d*)?)?|(?<=T)\d{4,6}(?:[.,]\d*)?/i

/** Words that are no time zone, or UTC. Months and days are known by their first letters. */
const words = new Set([
  ...[
    't',
    'am',
    'pm',
    'ad',
    'bc',
    'z',
    'zulu',
    'ut',
    'utc',
    'gmt',
    'uct',
    'j',
    'jd',
    'h',
    'm',
    's',
    'on',
    'at',
  ],
  ...['now', 'today', 'tomorrow', 'yesterday', 'epoch', 'infinity', 'allballs'],
])
const calendar = /^(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*$/i

function isKnown(word: string): boolean {
  return words.has(word.toLowerCase()) || (calendar.test(word) && word.toLowerCase() !== 'mart')
}
