import { limitParameter, offsetSchema } from '../../../http/requests/filters.ts'
import { bearerSecurity, component, described, requiredByHandler, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { usageMetrics } from './queries.ts'

const tags = ['usage']
const security = bearerSecurity

const span = {
  period: Type.Optional(
    Type.String({
      description: 'day, week (seven days) or month (thirty), which end today (UTC); month unless given.',
    }),
  ),
  from: Type.Optional(Type.String({ description: 'YYYY-MM-DD, with `to` instead of a period.' })),
  to: Type.Optional(Type.String({ description: 'YYYY-MM-DD; the last day.' })),
}
export const appsLimit = limitParameter(50, 500)
export const breakdownLimit = limitParameter(10, 100)

const params = Type.Object({ tenantId: Type.String({ description: 'UUID of an app.' }) })
const metric = requiredByHandler(Type.String({ description: `${usageMetrics.join(', ')}.` }))
const number = Type.Number()

const figures = {
  apiRequests: number,
  storageBytesUsed: Type.Number({ description: 'Most that was stored.' }),
  bandwidthBytes: Type.Number({ description: 'In and out, headers included.' }),
  functionInvocations: Type.Number({ description: 'Calls of procedures.' }),
}
const usageFigures = component('UsageFigures', Type.Object(figures))

const tenantUsage = component(
  'TenantUsage',
  Type.Object({
    tenantId: Type.String(),
    period: Type.String({ description: 'day, week, month or custom.' }),
    data: Type.Array(Type.Object({ date: Type.String({ description: 'YYYY-MM-DD, UTC.' }), ...figures })),
    totals: usageFigures,
    limits: described('0: unlimited.', usageFigures),
    plan: Type.String(),
  }),
)

const limited = component(
  'LimitedUsage',
  Type.Object({ limit: number, used: number, remaining: Type.Union([number, Type.Null()]) }),
)
const tenantLimits = component(
  'TenantLimits',
  Type.Object({
    plan: Type.String(),
    metrics: Type.Object(
      {
        api_requests: limited,
        storage_bytes: limited,
        bandwidth_bytes: limited,
        function_invocations: limited,
      },
      { description: 'Of an unlimited metric the limit is 0 and what remains null.' },
    ),
  }),
)

export const listUsageSchema = {
  tags,
  security,
  summary: 'List the usage of apps',
  querystring: Type.Object({
    ...span,
    sort: Type.Optional(
      Type.String({
        description:
          'request_count, storage_bytes, bandwidth_bytes, function_invocations, realtime_peak_connections, job_runs, tenant_id or tenant_name; descending, unless written `+name` or `name:asc`.',
      }),
    ),
    limit: appsLimit.schema,
    offset: offsetSchema,
  }),
  response: responses({
    200: Type.Object({
      items: Type.Array(
        Type.Object({
          tenantId: Type.String(),
          tenantName: Type.String(),
          requestCount: number,
          storageBytesUsed: number,
          bandwidthBytes: number,
          bandwidthInBytes: number,
          bandwidthOutBytes: number,
          functionInvocations: number,
          realtimePeakConnections: number,
          jobRuns: number,
        }),
      ),
      total: Type.Integer(),
      limit: Type.Integer(),
      offset: Type.Integer(),
    }),
  }),
}

export const usageTrendsSchema = {
  tags,
  security,
  summary: 'Report a metric of all apps over time',
  querystring: Type.Object({
    ...span,
    metric,
    granularity: Type.Optional(
      Type.String({ description: 'day, week, month, or hour for api_requests; day unless given.' }),
    ),
  }),
  response: responses({
    200: Type.Object({
      metric: Type.String(),
      granularity: Type.String(),
      items: Type.Array(Type.Object({ timestamp: Type.String(), value: number })),
    }),
  }),
}

export const usageBreakdownSchema = {
  tags,
  security,
  summary: 'Report what makes up a metric',
  querystring: Type.Object({
    ...span,
    metric,
    group_by: Type.Optional(
      Type.String({
        description: 'tenant, or for api_requests endpoint or status_code; tenant unless given.',
      }),
    ),
    limit: breakdownLimit.schema,
  }),
  response: responses({
    200: Type.Object({
      metric: Type.String(),
      groupBy: Type.String(),
      items: Type.Array(
        Type.Object({
          key: Type.String(),
          name: Type.Optional(Type.String({ description: 'Of an app.' })),
          value: number,
        }),
      ),
    }),
  }),
}

export const tenantUsageSchema = {
  tags,
  security,
  summary: 'Get the usage of an app by day',
  params,
  querystring: Type.Object(span),
  response: responses({ 200: tenantUsage }),
}

export const tenantLimitsSchema = {
  tags,
  security,
  summary: "Get an app's limits and what it used of them",
  params,
  querystring: Type.Object(span),
  response: responses({ 200: tenantLimits }),
}

export const setPlanSchema = {
  tags,
  security,
  summary: 'Put an app on a plan',
  params,
  body: Type.Object({ plan: Type.String({ description: 'A plan of `usage.plans`, or `default`.' }) }),
  response: responses({ 200: tenantLimits }),
}

export const ownUsageSchema = {
  tags,
  security,
  summary: 'Get the usage of the app that the key belongs to',
  querystring: Type.Object(span),
  response: responses({ 200: tenantUsage }),
}

export const ownLimitsSchema = {
  tags,
  security,
  summary: 'Get the limits of the app that the key belongs to',
  querystring: Type.Object(span),
  response: responses({ 200: tenantLimits }),
}
