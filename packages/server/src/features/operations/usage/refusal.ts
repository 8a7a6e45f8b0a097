import type { AppError } from '../../../lib/errors.ts'
import { usageErrors } from './errors.ts'
import type { LimitedMetric } from './plans.ts'
import { monthAfter } from './span.ts'

/** What a request of an app is answered that its plan has no room for, until the month ends. */
export function refuseBeyondPlan(metric: LimitedMetric, now: Date): AppError {
  const seconds = Math.ceil((monthAfter(now).getTime() - now.getTime()) / 1000)
  return usageErrors.usageLimitExceeded(metric).with({ headers: { 'retry-after': String(seconds) } })
}
