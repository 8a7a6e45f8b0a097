/**
 * Parses a `Retry-After` header into seconds: a number, or the time until a date (RFC 9110 §10.2.3). Returns
 * undefined when it is missing or invalid.
 */
export function readRetryAfter(value: string | string[] | null | undefined, now: Date): number | undefined {
  if (typeof value !== 'string') return undefined
  if (/^\d{1,9}$/.test(value.trim())) return Number(value)
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - now.getTime()) / 1000))
}
