import type { FastifyRequest } from 'fastify'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { httpErrors } from '../../../http/errors.ts'
import { readLimit, readOffset } from '../../../http/filters.ts'
import { defaultAppId } from '../../../http/identity.ts'
import { originOf } from '../../../http/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { AppError } from '../../../lib/errors.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../audit/index.ts'
import { usageErrors } from './errors.ts'
import { isPlan, type limitedMetrics, limitsOf, type Plans } from './plans.ts'
import * as queries from './queries.ts'
import * as schemas from './schemas.ts'
import { readPlanSpan, readSpan, type SpanParameters } from './span.ts'

const path = '/api/admin/usage'

export interface UsageRoutesDeps {
  readonly database: SystemDatabase
  readonly plans: Plans
  readonly clock: Clock
}

/** What apps have used: for administrators of all apps, for the holder of a key of its app. */
export function usageRoutes(app: HttpServer, { database, plans, clock }: UsageRoutesDeps): void {
  const spanOf = (parameters: SpanParameters) => readSpan(parameters, clock.now())

  async function tenantUsage(id: string, parameters: SpanParameters) {
    const span = spanOf(parameters)
    const { plan } = await requireApp(database, id)
    const days = await queries.listDays(database, id, span)
    return {
      tenantId: id,
      period: span.period,
      data: days.map((day) => ({ date: day.date, ...showFigures(day) })),
      totals: showFigures(totalOf(days)),
      limits: showFigures(limitsOf(plans, plan)),
      plan,
    }
  }

  async function tenantLimits(id: string, parameters: SpanParameters) {
    const span = readPlanSpan(parameters, clock.now())
    const { plan } = await requireApp(database, id)
    const used = totalOf(await queries.listDays(database, id, span))
    const limits = limitsOf(plans, plan)
    return {
      plan,
      metrics: {
        api_requests: showLimit(limits.api_requests, used.api_requests),
        storage_bytes: showLimit(limits.storage_bytes, used.storage_bytes),
        bandwidth_bytes: showLimit(limits.bandwidth_bytes, used.bandwidth_bytes),
        function_invocations: showLimit(limits.function_invocations, used.function_invocations),
      },
    }
  }

  app.get(
    path,
    { config: { guard: 'admin', operation: 'usage.list' }, schema: schemas.listUsageSchema },
    async (request, reply) => {
      const { sort = 'request_count', limit, offset } = request.query
      const page = { limit: readLimit(limit, 50, 500), offset: readOffset(offset) }
      const { rows, total } = await queries.listAppUsage(
        database,
        spanOf(request.query),
        readOrder(sort),
        page,
      )
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
      return reply.send({ items, total, ...page })
    },
  )

  app.get(
    `${path}/trends`,
    { config: { guard: 'admin', operation: 'usage.trends' }, schema: schemas.usageTrendsSchema },
    async (request, reply) => {
      const metric = readMetric(request.query.metric)
      const granularity = readReportChoice(
        'granularity',
        request.query.granularity ?? 'day',
        queries.granularities.filter((name) => name !== 'hour' || metric === 'api_requests'),
      )
      const steps = await queries.listTrend(database, metric, granularity, spanOf(request.query))
      const items = steps.map(({ timestamp, value }) => ({ timestamp: timestamp.toISOString(), value }))
      return reply.send({ metric, granularity, items })
    },
  )

  app.get(
    `${path}/breakdown`,
    { config: { guard: 'admin', operation: 'usage.breakdown' }, schema: schemas.usageBreakdownSchema },
    async (request, reply) => {
      const metric = readMetric(request.query.metric)
      const groupBy = readReportChoice('group_by', request.query.group_by ?? 'tenant', [
        'tenant',
        'endpoint',
        'status_code',
      ])
      if (groupBy !== 'tenant' && metric !== 'api_requests') throw usageErrors.invalidMetricGroup()
      const span = spanOf(request.query)
      const limit = readLimit(request.query.limit, 10, 100)
      const items =
        groupBy === 'tenant'
          ? await queries.breakDownByApp(database, metric, span, limit)
          : await queries.breakDownRequests(database, groupBy, span, limit)
      return reply.send({ metric, groupBy, items: [...items] })
    },
  )

  app.get(
    `${path}/:tenantId`,
    { config: { guard: 'admin', operation: 'usage.get' }, schema: schemas.tenantUsageSchema },
    async (request, reply) => reply.send(await tenantUsage(request.params.tenantId, request.query)),
  )

  app.get(
    `${path}/:tenantId/limits`,
    { config: { guard: 'admin', operation: 'usage.getLimits' }, schema: schemas.tenantLimitsSchema },
    async (request, reply) => reply.send(await tenantLimits(request.params.tenantId, request.query)),
  )

  app.put(
    `${path}/:tenantId/plan`,
    { config: { guard: 'admin', operation: 'usage.setPlan' }, schema: schemas.setPlanSchema },
    async (request, reply) => {
      const { tenantId } = request.params
      const { plan } = request.body
      if (!isUuid(tenantId)) throw usageErrors.invalidTenantId()
      if (!isPlan(plans, plan)) throw usageErrors.unknownPlan(plan)
      await database.transaction(async (transaction) => {
        if (!(await queries.updatePlan(transaction, tenantId, plan))) throw usageErrors.tenantNotFound()
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'usage.set_plan',
          target: tenantId,
          detail: { plan },
          origin: originOf(request),
        })
      })
      return reply.send(await tenantLimits(tenantId, {}))
    },
  )

  app.get(
    '/api/usage',
    {
      config: { guard: 'data', programs: 'read', operation: 'usage.getOwn' },
      schema: schemas.ownUsageSchema,
    },
    async (request, reply) => reply.send(await tenantUsage(tenantOf(request), request.query)),
  )

  app.get(
    '/api/usage/limits',
    {
      config: { guard: 'data', programs: 'read', operation: 'usage.getOwnLimits' },
      schema: schemas.ownLimitsSchema,
    },
    async (request, reply) => reply.send(await tenantLimits(tenantOf(request), request.query)),
  )
}

/** @throws AppError tenant_context_required for callers that belong to no app of their own */
function tenantOf({ identity }: FastifyRequest): string {
  if (identity === undefined || identity.appId === defaultAppId) throw usageErrors.tenantContextRequired()
  return identity.appId
}

async function requireApp(database: SystemDatabase, id: string): Promise<queries.PlannedApp> {
  if (!isUuid(id)) throw usageErrors.invalidTenantId()
  const found = await queries.findApp(database, id)
  if (found === undefined) throw usageErrors.tenantNotFound()
  return found
}

function readMetric(text: string | undefined): queries.UsageMetric {
  if (text === undefined || text === '') throw usageErrors.metricRequired()
  return readReportChoice('metric', text, queries.usageMetrics)
}

/** One of the options. @throws AppError invalid_list_parameter, with the options in `data` */
function readReportChoice<const Option extends string>(
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

const sortKeys: Readonly<Record<string, queries.AppUsageOrder['key']>> = {
  request_count: 'api_requests',
  storage_bytes: 'storage_bytes',
  bandwidth_bytes: 'bandwidth_bytes',
  function_invocations: 'function_invocations',
  realtime_peak_connections: 'realtime_peak_connections',
  job_runs: 'job_runs',
  tenant_id: 'app_id',
  tenant_name: 'name',
}

/** `name`, `-name` and `name:desc` descend; `+name` and `name:asc` ascend. A `+` in a query means a blank. */
function readOrder(text: string): queries.AppUsageOrder {
  const [, sign, name = '', direction] = /^([-+ ]?)([a-z_]+)(?::(asc|desc))?$/.exec(text) ?? []
  const key = Object.hasOwn(sortKeys, name) ? sortKeys[name] : undefined
  if (key === undefined || (sign !== '' && direction !== undefined))
    throw invalidChoice('sort', Object.keys(sortKeys))
  return { key, isDescending: direction === undefined ? sign === '' || sign === '-' : direction === 'desc' }
}

type Figures = Readonly<Record<(typeof limitedMetrics)[number], number>>

/** Of stocks the largest, of everything else the sum. */
function totalOf(days: readonly Figures[]): Figures {
  const sum = (metric: keyof Figures) => days.reduce((total, day) => total + day[metric], 0)
  return {
    api_requests: sum('api_requests'),
    storage_bytes: Math.max(0, ...days.map((day) => day.storage_bytes)),
    bandwidth_bytes: sum('bandwidth_bytes'),
    function_invocations: sum('function_invocations'),
  }
}

function showFigures(figures: Figures) {
  return {
    apiRequests: figures.api_requests,
    storageBytesUsed: figures.storage_bytes,
    bandwidthBytes: figures.bandwidth_bytes,
    functionInvocations: figures.function_invocations,
  }
}

function showLimit(limit: number, used: number) {
  return { limit, used, remaining: limit === 0 ? null : Math.max(0, limit - used) }
}
