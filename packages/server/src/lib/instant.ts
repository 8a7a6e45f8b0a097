const form = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i

/**
 * A timestamp as RFC 3339 §5.6 writes it; undefined when it is none, on a day that no calendar has, or in a year that has not
 * four digits in UTC.
 */
export function parseInstant(text: string): Date | undefined {
  const day = form.exec(text)?.[1]
  if (day === undefined || parseDay(day) === undefined) return undefined
  const instant = new Date(text)
  const year = instant.getUTCFullYear()
  return year >= 1 && year <= 9999 ? instant : undefined
}

/** When a day begins in UTC, from `YYYY-MM-DD`; undefined when no calendar has it. */
export function parseDay(text: string): Date | undefined {
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(text) : undefined
  // 31 February becomes another day.
  const isReal = day !== undefined && !Number.isNaN(day.getTime()) && day.toISOString().slice(0, 10) === text
  return isReal ? day : undefined
}
