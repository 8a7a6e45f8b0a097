import { defineErrors } from '../../../lib/errors.ts'

export const usageErrorTable = {
  invalidPeriod: {
    status: 400,
    message: 'invalid period or date range',
    help: 'Send `period` (day, week, month) or both `from` and `to` as YYYY-MM-DD, at most ten years apart.',
  },
  metricRequired: {
    status: 400,
    message: 'metric is required',
    help: 'The parameter `metric` names the reported metric.',
  },
  invalidMetricGroup: {
    status: 400,
    message: 'invalid metric/group_by combination',
    help: 'Only `api_requests` has endpoints and status codes.',
  },
  invalidTenantId: {
    status: 400,
    message: 'invalid tenant_id format',
    help: 'A tenant is an app, whose id is a UUID.',
  },
  tenantNotFound: {
    status: 404,
    message: 'tenant not found',
    help: 'No app has this id.',
  },
  unknownPlan: {
    status: 400,
    message: (plan: string) => `unknown plan "${plan}"`,
    help: 'Plans are those of `usage.plans`, and `default`.',
  },
  tenantContextRequired: {
    status: 403,
    message: 'tenant context required',
    help: 'Send an API key of an app. The usage is that of its app.',
  },
  usageLimitExceeded: {
    status: 429,
    message: (metric: string) => `usage limit exceeded: ${metric}`,
    help: "The app has used up its plan's limit of this month. Wait for the seconds in `Retry-After`, or raise the limit. For `storage_bytes`, deleting files frees capacity at once.",
  },
} as const

export const usageErrors = defineErrors(usageErrorTable)
