import { parseDay } from '../../../lib/instant.ts'
import { usageErrors } from './errors.ts'
import type { Span } from './queries.ts'

const dayMs = 24 * 3_600_000
/** Longest span: a report of hours has a row for each. */
const longestDays = 3660

export interface SpanParameters {
  readonly period?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export interface NamedSpan extends Span {
  /** `day`, `week`, `month` or `custom`. */
  readonly period: string
}

/**
 * `day` is today, `week` the seven days that end today, `month` the calendar month so far, by which plans count. In UTC.
 *
 * @throws AppError invalid_period
 */
export function readSpan({ period, from, to }: SpanParameters, now: Date): NamedSpan {
  const tomorrow = new Date(Math.floor(now.getTime() / dayMs) * dayMs + dayMs)
  if (from !== undefined || to !== undefined) {
    if (period !== undefined || from === undefined || to === undefined) throw usageErrors.invalidPeriod()
    const span = { from: readDay(from), to: new Date(readDay(to).getTime() + dayMs) }
    const days = (span.to.getTime() - span.from.getTime()) / dayMs
    if (days < 1 || days > longestDays) throw usageErrors.invalidPeriod()
    return { period: 'custom', ...span }
  }
  switch (period) {
    case 'day':
      return { period, from: new Date(tomorrow.getTime() - dayMs), to: tomorrow }
    case 'week':
      return { period, from: new Date(tomorrow.getTime() - 7 * dayMs), to: tomorrow }
    case undefined:
    case 'month':
      return { period: 'month', from: monthOf(now), to: tomorrow }
    default:
      throw usageErrors.invalidPeriod()
  }
}

/** When the calendar month begins. */
export function monthOf(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()))
}

/** When the next calendar month begins. */
export function monthAfter(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1))
}

function readDay(text: string): Date {
  const day = parseDay(text)
  if (day === undefined) throw usageErrors.invalidPeriod()
  return day
}
