import type { SystemDatabase } from '../../../database/system-database.ts'
import { type Answered, choice, component, described, nullable } from '../../../http/schemas.ts'
import type { Clock } from '../../../lib/clock.ts'
import { Type } from '../../../lib/type.ts'
import { usageErrors } from './errors.ts'
import { type LimitedMetric, limitsOf, type Plans } from './plans.ts'
import { findApp, listDays, type PlannedApp } from './queries.ts'
import { periods, readPlanSpan, readSpan, type SpanParameters } from './span.ts'

const number = Type.Number()
const members = {
  apiRequests: number,
  storageBytesUsed: Type.Number({ description: 'Maximum of stored bytes.' }),
  bandwidthBytes: Type.Number({ description: 'Bytes received and sent, including headers.' }),
  functionInvocations: Type.Number({ description: 'Calls of procedures.' }),
}
const UsageFigures = component('UsageFigures', Type.Object(members))

export const TenantUsage = component(
  'TenantUsage',
  Type.Object({
    tenantId: Type.String(),
    period: choice([...periods, 'custom']),
    data: Type.Array(Type.Object({ date: Type.String({ format: 'date', description: 'UTC.' }), ...members })),
    totals: UsageFigures,
    limits: described('0: unlimited.', UsageFigures),
    plan: Type.String(),
  }),
)

const LimitedUsage = component(
  'LimitedUsage',
  Type.Object({ limit: number, used: number, remaining: nullable(number) }),
)

export const TenantLimits = component(
  'TenantLimits',
  Type.Object({
    plan: Type.String(),
    metrics: Type.Object(
      {
        api_requests: LimitedUsage,
        storage_bytes: LimitedUsage,
        bandwidth_bytes: LimitedUsage,
        function_invocations: LimitedUsage,
      },
      { description: 'An unlimited metric has the limit 0 and null remaining.' },
    ),
  }),
)

export interface UsageReportDeps {
  readonly database: SystemDatabase
  readonly plans: Plans
  readonly clock: Clock
}

/** Returns the usage of an app, by day. @throws AppError invalid_period, tenant_not_found */
export async function reportUsage(
  { database, plans, clock }: UsageReportDeps,
  id: string,
  parameters: SpanParameters,
): Promise<Answered<typeof TenantUsage>> {
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

/** Returns the limits of an app's plan, with their usage. @throws as `reportUsage` */
export async function reportLimits(
  { database, plans, clock }: UsageReportDeps,
  id: string,
  parameters: SpanParameters,
): Promise<Answered<typeof TenantLimits>> {
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
  const found = await findApp(database, id)
  if (found === undefined) throw usageErrors.tenantNotFound()
  return found
}

type Figures = Readonly<Record<LimitedMetric, number>>

/** Returns the maximum of stocks, and the sum of everything else. */
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
