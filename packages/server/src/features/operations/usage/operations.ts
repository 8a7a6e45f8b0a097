import { defaultAppId, type Identity } from '../../../http/access/identity.ts'
import { ok, operation } from '../../../http/operation.ts'
import { limitParameter, offsetParameter } from '../../../http/requests/filters.ts'
import { checkedByHandler, choice, component, refusedWith, timestamp, uuid } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { recordAdminAction } from '../audit/index.ts'
import { usageErrors } from './errors.ts'
import { invalidChoice, readGranularity, readOrder, sortKeys } from './parameters.ts'
import { isPlan } from './plans.ts'
import * as queries from './queries.ts'
import { reportLimits, reportUsage, TenantLimits, TenantUsage, type UsageReportDeps } from './report.ts'
import { periods, readSpan } from './span.ts'

type Deps = UsageReportDeps

/** Members that every description below shares. */
const admin = { guard: 'admin', permission: 'operations.read', tag: 'usage' } as const
const own = { guard: 'data', programs: 'read', tag: 'usage' } as const
const collection = '/api/admin/usage'
const item = `${collection}/:tenantId`
const params = Type.Object({
  tenantId: refusedWith({ invalid: usageErrors.invalidTenantId }, { ...uuid, description: 'Id of an app.' }),
})

const day = (description: string) =>
  Type.Optional(checkedByHandler({ format: 'date' }, Type.String({ description })))
const span = {
  period: Type.Optional(
    refusedWith(
      { invalid: usageErrors.invalidPeriod },
      choice(periods, {
        description: 'Day, week (seven days) or month (thirty) that ends today (UTC). Default: month.',
      }),
    ),
  ),
  from: day('First day, with `to`, instead of a period.'),
  to: day('Last day.'),
}

const metric = refusedWith(
  {
    missing: usageErrors.metricRequired,
    invalid: () => invalidChoice('metric', queries.usageMetrics),
  },
  choice(queries.usageMetrics),
)
const number = Type.Number()

const appsLimit = limitParameter(50, 500)
const sortNames = Object.keys(sortKeys).join('|')

const list = operation({
  ...admin,
  id: 'usage.list',
  method: 'GET',
  path: collection,
  summary: 'List the usage of apps',
  query: Type.Object({
    ...span,
    sort: Type.Optional(
      checkedByHandler(
        { pattern: `^([-+ ]?(${sortNames})|(${sortNames}):(asc|desc))$` },
        Type.String({
          description: 'Default: request_count. The order is descending, except for `+name` or `name:asc`.',
        }),
      ),
    ),
    limit: appsLimit.schema,
    offset: offsetParameter,
  }),
  success: ok(
    Type.Object({
      items: Type.Array(
        component(
          'AppUsage',
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
      ),
      total: Type.Integer(),
      limit: Type.Integer(),
      offset: Type.Integer(),
    }),
  ),
  async handle({ database, clock }: Deps, { query: { sort, limit, offset = 0, ...span } }) {
    const page = { limit: appsLimit.read(limit), offset }
    const order = readOrder(sort)
    const { rows, total } = await queries.listAppUsage(database, readSpan(span, clock.now()), order, page)
    const items = rows.map((row) => ({
      tenantId: row.app_id,
      tenantName: row.name,
      requestCount: row.api_requests,
      storageBytesUsed: row.storage_bytes,
      bandwidthBytes: row.bandwidth_bytes,
      bandwidthInBytes: row.bytes_in,
      bandwidthOutBytes: row.bytes_out,
      functionInvocations: row.function_invocations,
      realtimePeakConnections: row.realtime_peak_connections,
      jobRuns: row.job_runs,
    }))
    return { items, total, ...page }
  },
})

const trends = operation({
  ...admin,
  id: 'usage.trends',
  method: 'GET',
  path: `${collection}/trends`,
  summary: 'Report a metric of all apps over time',
  query: Type.Object({
    ...span,
    metric,
    granularity: Type.Optional(
      checkedByHandler(
        { enum: queries.granularities },
        Type.String({ description: 'hour is only for api_requests. Default: day.' }),
      ),
    ),
  }),
  success: ok(
    Type.Object({
      metric: Type.String(),
      granularity: Type.String(),
      items: Type.Array(Type.Object({ timestamp, value: number })),
    }),
  ),
  async handle({ database, clock }: Deps, { query: { metric, granularity: name, ...span } }) {
    const granularity = readGranularity(name, metric)
    const items = await queries.listTrend(database, metric, granularity, readSpan(span, clock.now()))
    return { metric, granularity, items }
  },
})

const groupings = ['tenant', 'endpoint', 'status_code'] as const
const breakdownLimit = limitParameter(10, 100)

const breakdown = operation({
  ...admin,
  id: 'usage.breakdown',
  method: 'GET',
  path: `${collection}/breakdown`,
  summary: 'Break down a metric',
  query: Type.Object({
    ...span,
    metric,
    group_by: Type.Optional(
      refusedWith(
        { invalid: () => invalidChoice('group_by', groupings) },
        choice(groupings, {
          description: 'endpoint and status_code are only for api_requests. Default: tenant.',
        }),
      ),
    ),
    limit: breakdownLimit.schema,
  }),
  success: ok(
    Type.Object({
      metric: Type.String(),
      groupBy: Type.String(),
      items: Type.Array(
        Type.Object({
          key: Type.String(),
          name: Type.Optional(Type.String({ description: 'Id of an app.' })),
          value: number,
        }),
      ),
    }),
  ),
  async handle({ database, clock }: Deps, { query }) {
    const { metric, group_by: groupBy = 'tenant', limit, ...dates } = query
    if (groupBy !== 'tenant' && metric !== 'api_requests') throw usageErrors.invalidMetricGroup()
    const span = readSpan(dates, clock.now())
    const most = breakdownLimit.read(limit)
    const items =
      groupBy === 'tenant'
        ? await queries.breakDownByApp(database, metric, span, most)
        : await queries.breakDownRequests(database, groupBy, span, most)
    return { metric, groupBy, items }
  },
})

const get = operation({
  ...admin,
  id: 'usage.get',
  method: 'GET',
  path: item,
  summary: 'Get the usage of an app by day',
  params,
  query: Type.Object(span),
  success: ok(TenantUsage),
  handle: (deps: Deps, { params, query }) => reportUsage(deps, params.tenantId, query),
})

const getLimits = operation({
  ...admin,
  id: 'usage.getLimits',
  method: 'GET',
  path: `${item}/limits`,
  summary: "Get an app's limits and its usage of them",
  params,
  query: Type.Object(span),
  success: ok(TenantLimits),
  handle: (deps: Deps, { params, query }) => reportLimits(deps, params.tenantId, query),
})

const setPlan = operation({
  ...admin,
  id: 'usage.setPlan',
  permission: 'apps.write',
  method: 'PUT',
  path: `${item}/plan`,
  summary: 'Put an app on a plan',
  params,
  body: Type.Object({
    plan: Type.String({ description: 'Plan of `usage.plans`, or `default`.' }),
  }),
  success: ok(TenantLimits),
  async handle(deps: Deps, { params: { tenantId: target }, body: { plan }, origin }) {
    if (!isPlan(deps.plans, plan)) throw usageErrors.unknownPlan(plan)
    await deps.database.transaction(async (transaction) => {
      if (!(await queries.updatePlan(transaction, target, plan))) throw usageErrors.tenantNotFound()
      await recordAdminAction(transaction, 'usage.set_plan', target, origin, { plan })
    })
    return await reportLimits(deps, target, {})
  },
})

const getOwn = operation({
  ...own,
  id: 'usage.getOwn',
  method: 'GET',
  path: '/api/usage',
  summary: 'Get the usage of the app that the key belongs to',
  query: Type.Object(span),
  success: ok(TenantUsage),
  handle: (deps: Deps, { identity, query }) => reportUsage(deps, tenantOf(identity), query),
})

const getOwnLimits = operation({
  ...own,
  id: 'usage.getOwnLimits',
  method: 'GET',
  path: '/api/usage/limits',
  summary: 'Get the limits of the app that the key belongs to',
  query: Type.Object(span),
  success: ok(TenantLimits),
  handle: (deps: Deps, { identity, query }) => reportLimits(deps, tenantOf(identity), query),
})

/** Operations on usage: of all apps for administrators, of its own app for an API key. */
export const usageOperations = [list, trends, breakdown, get, getLimits, setPlan, getOwn, getOwnLimits]

/**
 * Returns the app of the caller.
 *
 * @throws AppError tenant_context_required for callers that belong to no app of their own
 */
function tenantOf(identity: Identity | undefined): string {
  if (identity === undefined || identity.appId === defaultAppId) throw usageErrors.tenantContextRequired()
  return identity.appId
}
