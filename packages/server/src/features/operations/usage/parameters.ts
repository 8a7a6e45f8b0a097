import { httpErrors } from '../../../http/errors/errors.ts'
import type { AppError } from '../../../lib/errors.ts'
import { usageErrors } from './errors.ts'
import {
  type AppUsageOrder,
  type Granularity,
  granularities,
  type UsageMetric,
  usageMetrics,
} from './queries.ts'

/** Parameters of reports. They are read by hand, for the messages: a choice that is refused has the options in `data`. */

/** @throws AppError metric_required, invalid_list_parameter */
export function readMetric(text: string | undefined): UsageMetric {
  if (text === undefined || text === '') throw usageErrors.metricRequired()
  return readChoice('metric', text, usageMetrics)
}

/** Hours are known of requests alone. @throws AppError invalid_list_parameter */
export function readGranularity(text: string | undefined, metric: UsageMetric): Granularity {
  const known = granularities.filter((name) => name !== 'hour' || metric === 'api_requests')
  return readChoice('granularity', text ?? 'day', known)
}

const groupings = ['tenant', 'endpoint', 'status_code'] as const

/** @throws AppError invalid_list_parameter, invalid_metric_group */
export function readGrouping(text: string | undefined, metric: UsageMetric): (typeof groupings)[number] {
  const grouping = readChoice('group_by', text ?? 'tenant', groupings)
  if (grouping !== 'tenant' && metric !== 'api_requests') throw usageErrors.invalidMetricGroup()
  return grouping
}

const sortKeys: Readonly<Record<string, AppUsageOrder['key']>> = {
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
 * `name`, `-name` and `name:desc` descend; `+name` and `name:asc` ascend. A `+` in a query means a blank.
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

function readChoice<const Option extends string>(
  name: string,
  text: string,
  options: readonly Option[],
): Option {
  const found = options.find((option) => option === text)
  if (found === undefined) throw invalidChoice(name, options)
  return found
}

function invalidChoice(name: string, expected: readonly string[]): AppError {
  return httpErrors.invalidListParameter(name, '').with({ data: { expected } })
}
