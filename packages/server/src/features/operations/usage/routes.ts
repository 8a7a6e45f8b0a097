import type { FastifyRequest } from 'fastify'
import { defaultAppId } from '../../../http/access/identity.ts'
import { readOffset } from '../../../http/requests/filters.ts'
import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../audit/index.ts'
import { usageErrors } from './errors.ts'
import { readGranularity, readGrouping, readMetric, readOrder } from './parameters.ts'
import { isPlan } from './plans.ts'
import * as queries from './queries.ts'
import { reportLimits, reportUsage, type UsageReportDeps } from './report.ts'
import * as schemas from './schemas.ts'
import { readSpan, type SpanParameters } from './span.ts'

const path = '/api/admin/usage'

/** What apps have used: for administrators of all apps, for the holder of a key of its app. */
export function usageRoutes(app: HttpServer, deps: UsageReportDeps): void {
  const { database, plans, clock } = deps
  const spanOf = (parameters: SpanParameters) => readSpan(parameters, clock.now())

  app.get(
    path,
    { config: { guard: 'admin', operation: 'usage.list' }, schema: schemas.listUsageSchema },
    async (request, reply) => {
      const { sort, limit, offset } = request.query
      const page = { limit: schemas.appsLimit.read(limit), offset: readOffset(offset) }
      const span = spanOf(request.query)
      const { rows, total } = await queries.listAppUsage(database, span, readOrder(sort), page)
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
      const granularity = readGranularity(request.query.granularity, metric)
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
      const groupBy = readGrouping(request.query.group_by, metric)
      const span = spanOf(request.query)
      const limit = schemas.breakdownLimit.read(request.query.limit)
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
    async (request, reply) => reply.send(await reportUsage(deps, request.params.tenantId, request.query)),
  )

  app.get(
    `${path}/:tenantId/limits`,
    { config: { guard: 'admin', operation: 'usage.getLimits' }, schema: schemas.tenantLimitsSchema },
    async (request, reply) => reply.send(await reportLimits(deps, request.params.tenantId, request.query)),
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
      return reply.send(await reportLimits(deps, tenantId, {}))
    },
  )

  app.get(
    '/api/usage',
    {
      config: { guard: 'data', programs: 'read', operation: 'usage.getOwn' },
      schema: schemas.ownUsageSchema,
    },
    async (request, reply) => reply.send(await reportUsage(deps, tenantOf(request), request.query)),
  )

  app.get(
    '/api/usage/limits',
    {
      config: { guard: 'data', programs: 'read', operation: 'usage.getOwnLimits' },
      schema: schemas.ownLimitsSchema,
    },
    async (request, reply) => reply.send(await reportLimits(deps, tenantOf(request), request.query)),
  )
}

/** @throws AppError tenant_context_required for callers that belong to no app of their own */
function tenantOf({ identity }: FastifyRequest): string {
  if (identity === undefined || identity.appId === defaultAppId) throw usageErrors.tenantContextRequired()
  return identity.appId
}
