/** Clock of a time zone. Offsets are in milliseconds: the local time at an instant is the instant plus the offset. */
export interface TimeZone {
  offsetAt(instant: number): number
  /** Finds the first clock change after one instant and not after another. */
  findChange(from: number, to: number): ClockChange | undefined
}

export interface ClockChange {
  /** First instant with the offset `after`. */
  readonly at: number
  readonly before: number
  readonly after: number
}

const weekMs = 7 * 86_400_000
const secondMs = 1000

/** Returns true if the IANA database has the name. Offsets such as `+01:00` are not time zones. */
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

  function offsetAt(instant: number): number {
    const read: Record<string, number> = {}
    for (const { type, value } of format.formatToParts(instant)) read[type] = Number(value)
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = read
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instant / secondMs) * secondMs
  }

  /** Finds the first instant with another offset, in whole seconds. */
  function findFirst(from: number, to: number, offset: number): number {
    let [before, after] = [Math.floor(from / secondMs), Math.floor(to / secondMs)]
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2)
      if (offsetAt(middle * secondMs) === offset) before = middle
      else after = middle
    }
    return after * secondMs
  }

  return {
    offsetAt,
    findChange(from, to) {
      const before = offsetAt(from)
      // Goes week by week, because clocks do not change twice within a week.
      for (let start = from; start < to; start += weekMs) {
        const end = Math.min(start + weekMs, to)
        const after = offsetAt(end)
        if (after !== before) return { at: findFirst(start, end, before), before, after }
      }
      return undefined
    },
  }
}
