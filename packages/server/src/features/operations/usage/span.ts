import { parseDay } from '../../../lib/instant.ts'
import { usageErrors } from './errors.ts'
import type { Span } from './queries.ts'

const dayMs = 24 * 3_600_000
export const periods = ['day', 'week', 'month'] as const
const periodDays: Readonly<Record<(typeof periods)[number], number>> = { day: 1, week: 7, month: 30 }
/** Maximum length of a span in days. A report of hours has a row for each. */
const longestDays = 3660

export interface SpanParameters {
  readonly period?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export interface NamedSpan extends Span {
  readonly period: (typeof periods)[number] | 'custom'
}

/**
 * Reads a span. `day` is today, `week` the seven days that end today, and `month` the thirty. All are in UTC.
 *
 * @throws AppError invalid_period
 */
export function readSpan({ period, from, to }: SpanParameters, now: Date): NamedSpan {
  const tomorrow = dayAfter(now)
  if (from !== undefined || to !== undefined) {
    if (period !== undefined || from === undefined || to === undefined) throw usageErrors.invalidPeriod()
    const span = { from: readDay(from), to: new Date(readDay(to).getTime() + dayMs) }
    const days = (span.to.getTime() - span.from.getTime()) / dayMs
    if (days < 1 || days > longestDays) throw usageErrors.invalidPeriod()
    return { period: 'custom', ...span }
  }
  const name = periods.find((each) => each === (period ?? 'month'))
  if (name === undefined) throw usageErrors.invalidPeriod()
  const days = periodDays[name]
  return { period: name, from: new Date(tomorrow.getTime() - days * dayMs), to: tomorrow }
}

/** Returns the span that limits of plans are compared with: the given one, or the calendar month so far. */
export function readPlanSpan(parameters: SpanParameters, now: Date): Span {
  const { period, from, to } = parameters
  const hasSpan = (period ?? from ?? to) !== undefined
  return hasSpan ? readSpan(parameters, now) : { from: monthOf(now), to: dayAfter(now) }
}

function dayAfter(now: Date): Date {
  return new Date(Math.floor(now.getTime() / dayMs) * dayMs + dayMs)
}

/** Returns the start of the calendar month. */
export function monthOf(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()))
}

/** Returns the start of the next calendar month. */
export function monthAfter(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1))
}

function readDay(text: string): Date {
  const day = parseDay(text)
  if (day === undefined) throw usageErrors.invalidPeriod()
  return day
}
