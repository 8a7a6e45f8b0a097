import type { AppError } from '../../../lib/errors.ts'
import { usageErrors } from './errors.ts'
import type { LimitedMetric } from './plans.ts'
import { monthAfter } from './span.ts'

/** Returns the error for a request beyond the plan of its app, which applies until the month ends. */
export function refuseBeyondPlan(metric: LimitedMetric, now: Date): AppError {
  const seconds = Math.ceil((monthAfter(now).getTime() - now.getTime()) / 1000)
  return usageErrors.usageLimitExceeded(metric).with({ headers: { 'retry-after': String(seconds) } })
}
