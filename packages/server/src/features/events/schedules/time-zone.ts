/**
 * Readings of clocks are given as the number of milliseconds that UTC would have at that reading.
 */
export interface TimeZone {
  /** What the clocks show at the instant. */
  localTime(instant: number): number
  /** How a local day passes, given by its midnight. */
  readDay(midnight: number): LocalDay
}

export interface LocalDay {
  /** The instants at which the clocks show this: none where they are put forward, two where they are put back. */
  instantsOf(local: number): number[]
  /** The first of them, or the one at which the clocks skip it. */
  firstInstantOf(local: number): number
}

const dayMs = 86_400_000
const secondMs = 1000

/** Whether the name is in the IANA database; offsets such as `+01:00` are no zones. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

export function createTimeZone(name: string): TimeZone {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })

  function localTime(instant: number): number {
    const read: Record<string, number> = {}
    for (const { type, value } of format.formatToParts(instant)) read[type] = Number(value)
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = read
    return Date.UTC(year, month - 1, day, hour, minute, second)
  }

  function offsetAt(instant: number): number {
    return localTime(instant) - Math.floor(instant / secondMs) * secondMs
  }

  /** The first instant with another offset. */
  function findChange(from: number, to: number, offset: number): number {
    let [before, after] = [from, to]
    while (after - before > secondMs) {
      const middle = before + Math.floor((after - before) / 2 / secondMs) * secondMs
      if (offsetAt(middle) === offset) before = middle
      else after = middle
    }
    return after
  }

  return {
    localTime,
    readDay(midnight) {
      // Far enough for every offset there is; within three days clocks are not changed twice.
      const [from, to] = [midnight - dayMs, midnight + 2 * dayMs]
      const [offset, nextOffset] = [offsetAt(from), offsetAt(to)]
      if (offset === nextOffset) {
        return { instantsOf: (local) => [local - offset], firstInstantOf: (local) => local - offset }
      }
      const change = findChange(from, to, offset)
      const instantsOf = (local: number) => [
        ...(local - offset < change ? [local - offset] : []),
        ...(local - nextOffset >= change ? [local - nextOffset] : []),
      ]
      return { instantsOf, firstInstantOf: (local) => instantsOf(local)[0] ?? change }
    },
  }
}
