/** Formats use the browser's language and time zone. Exact times are shown on demand. */
const numbers = new Intl.NumberFormat()
const instants = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

export const formatNumber = (value: number) => numbers.format(value)

export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  const seconds = milliseconds / 1000
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`
  if (seconds < 86_400) return `${(seconds / 3600).toFixed(1)} h`
  return `${(seconds / 86_400).toFixed(1)} d`
}

/** Formats the duration of a statement or plan node, which is often shorter than a millisecond. */
export function formatShortDuration(milliseconds: number): string {
  return milliseconds < 100
    ? `${milliseconds.toFixed(milliseconds < 1 ? 3 : 1)} ms`
    : formatDuration(milliseconds)
}

export function formatInstant(text: string | number | Date): string {
  const instant = new Date(text)
  return Number.isNaN(instant.valueOf()) ? String(text) : instants.format(instant)
}

/** Formats a count with its noun: `1 row`, `2 rows`. */
export const countOf = (count: number, noun: string, plural = `${noun}s`) =>
  `${formatNumber(count)} ${count === 1 ? noun : plural}`
