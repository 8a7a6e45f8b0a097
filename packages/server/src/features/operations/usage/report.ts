import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Clock } from '../../../lib/clock.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { usageErrors } from './errors.ts'
import { type LimitedMetric, limitsOf, type Plans } from './plans.ts'
import { findApp, listDays, type PlannedApp } from './queries.ts'
import { readPlanSpan, readSpan, type SpanParameters } from './span.ts'

export interface UsageReportDeps {
  readonly database: SystemDatabase
  readonly plans: Plans
  readonly clock: Clock
}

/** What an app has used, by day. @throws AppError invalid_period, invalid_tenant_id, tenant_not_found */
export async function reportUsage(
  { database, plans, clock }: UsageReportDeps,
  id: string,
  parameters: SpanParameters,
) {
  const span = readSpan(parameters, clock.now())
  const { plan } = await requireApp(database, id)
  const days = await listDays(database, id, span)
  return {
    tenantId: id,
    period: span.period,
    data: days.map((day) => ({ date: day.date, ...showFigures(day) })),
    totals: showFigures(totalOf(days)),
    limits: showFigures(limitsOf(plans, plan)),
    plan,
  }
}

/** What the plan of an app allows, and what is used of it. @throws as `reportUsage` */
export async function reportLimits(
  { database, plans, clock }: UsageReportDeps,
  id: string,
  parameters: SpanParameters,
) {
  const span = readPlanSpan(parameters, clock.now())
  const { plan } = await requireApp(database, id)
  const used = totalOf(await listDays(database, id, span))
  const limits = limitsOf(plans, plan)
  const show = (metric: LimitedMetric) => showLimit(limits[metric], used[metric])
  return {
    plan,
    metrics: {
      api_requests: show('api_requests'),
      storage_bytes: show('storage_bytes'),
      bandwidth_bytes: show('bandwidth_bytes'),
      function_invocations: show('function_invocations'),
    },
  }
}

async function requireApp(database: SystemDatabase, id: string): Promise<PlannedApp> {
  if (!isUuid(id)) throw usageErrors.invalidTenantId()
  const found = await findApp(database, id)
  if (found === undefined) throw usageErrors.tenantNotFound()
  return found
}

type Figures = Readonly<Record<LimitedMetric, number>>

/** Of stocks the largest, of everything else the sum. */
function totalOf(days: readonly Figures[]): Figures {
  const sum = (metric: LimitedMetric) => days.reduce((total, day) => total + day[metric], 0)
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
