import { httpErrors } from '../../../http/errors/errors.ts'
import type { AppError } from '../../../lib/errors.ts'
import { type AppUsageOrder, type Granularity, granularities, type UsageMetric } from './queries.ts'

/** Returns the granularity. Hours exist only for requests. @throws AppError invalid_list_parameter */
export function readGranularity(text: string | undefined, metric: UsageMetric): Granularity {
  const known = granularities.filter((name) => name !== 'hour' || metric === 'api_requests')
  const found = known.find((name) => name === (text ?? 'day'))
  if (found === undefined) throw invalidChoice('granularity', known)
  return found
}

export const sortKeys: Readonly<Record<string, AppUsageOrder['key']>> = {
  request_count: 'api_requests',
  storage_bytes: 'storage_bytes',
  bandwidth_bytes: 'bandwidth_bytes',
  function_invocations: 'function_invocations',
  realtime_peak_connections: 'realtime_peak_connections',
  job_runs: 'job_runs',
  tenant_id: 'app_id',
  tenant_name: 'name',
}

/**
 * Parses an order. `name`, `-name` and `name:desc` descend, `+name` and `name:asc` ascend. A `+` in a query
 * means a blank.
 *
 * @throws AppError invalid_list_parameter
 */
export function readOrder(text = 'request_count'): AppUsageOrder {
  const [, sign, name = '', direction] = /^([-+ ]?)([a-z_]+)(?::(asc|desc))?$/.exec(text) ?? []
  const key = Object.hasOwn(sortKeys, name) ? sortKeys[name] : undefined
  if (key === undefined || (sign !== '' && direction !== undefined))
    throw invalidChoice('sort', Object.keys(sortKeys))
  return { key, isDescending: direction === undefined ? sign === '' || sign === '-' : direction === 'desc' }
}

/** Returns the error of a choice, with the options in `data`. */
export function invalidChoice(name: string, expected: readonly string[]): AppError {
  return httpErrors.invalidListParameter(name, '').with({ data: { expected } })
}
