import { defineErrors } from '../../../lib/errors.ts'

export const usageErrorTable = {
  invalidPeriod: {
    status: 400,
    message: 'invalid period or date range',
    help: 'Give `period` (day, week, month) or both `from` and `to` as YYYY-MM-DD, at most ten years apart.',
  },
  metricRequired: {
    status: 400,
    message: 'metric is required',
    help: 'The parameter `metric` names what is reported.',
  },
  invalidMetricGroup: {
    status: 400,
    message: 'invalid metric/group_by combination',
    help: 'Endpoints and status codes are known of `api_requests` alone.',
  },
  invalidTenantId: {
    status: 400,
    message: 'invalid tenant_id format',
    help: 'A tenant is an app; its id is a UUID.',
  },
  tenantNotFound: {
    status: 404,
    message: 'tenant not found',
    help: 'There is no app of this id.',
  },
  unknownPlan: {
    status: 400,
    message: (plan: string) => `unknown plan "${plan}"`,
    help: 'Plans are those of `usage.plans`, and `default`.',
  },
  tenantContextRequired: {
    status: 403,
    message: 'tenant context required',
    help: 'Send a key of an app: usage is that of its app.',
  },
  usageLimitExceeded: {
    status: 429,
    message: (metric: string) => `usage limit exceeded: ${metric}`,
    help: "The app has used up its plan's limit of this month. Wait for the seconds in `Retry-After`, or raise the limit; of `storage_bytes`, deleting files makes room at once.",
  },
} as const

export const usageErrors = defineErrors(usageErrorTable)
