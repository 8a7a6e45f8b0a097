const form = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i

/**
 * Parses a timestamp as in RFC 3339 §5.6. Returns undefined when it is invalid, on a day that does not exist,
 * or in a year without four digits in UTC.
 */
export function parseInstant(text: string): Date | undefined {
  const day = form.exec(text)?.[1]
  if (day === undefined || parseDay(day) === undefined) return undefined
  const instant = new Date(text)
  const year = instant.getUTCFullYear()
  return year >= 1 && year <= 9999 ? instant : undefined
}

/** Returns the start of a day in UTC, from `YYYY-MM-DD`; undefined for a day that does not exist. */
export function parseDay(text: string): Date | undefined {
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(text) : undefined
  // 31 February becomes another day.
  const isReal = day !== undefined && !Number.isNaN(day.getTime()) && day.toISOString().slice(0, 10) === text
  return isReal ? day : undefined
}
