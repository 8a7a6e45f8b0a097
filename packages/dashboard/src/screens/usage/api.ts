import { type ApiResponse, get, type Item, put, segment } from '../../api/request.ts'

export type Step = 'minute' | 'hour' | 'day'
export type LatencyPoint = Item<'analytics.latency'>

export const readLatency = (step: Step, from: string, signal: AbortSignal) =>
  get<'analytics.latency'>('admin/analytics/latency', { step, from }, { signal })

export type AppUsage = Item<'usage.list'>

const pageSize = 50

export async function listUsage(period: string, cursor: string | undefined, signal: AbortSignal) {
  const offset = Number(cursor ?? 0)
  const query = { period, limit: pageSize, offset }
  const { items, total } = await get<'usage.list'>('admin/usage', query, {
    signal,
  })
  return { items, next: offset + items.length < total ? String(offset + pageSize) : undefined }
}

export type BreakdownItem = Item<'usage.breakdown'>

export const readBreakdown = (by: 'endpoint' | 'status_code', period: string, signal: AbortSignal) =>
  get<'usage.breakdown'>(
    'admin/usage/breakdown',
    { metric: 'api_requests', group_by: by, period },
    { signal },
  )

export type AppLimits = ApiResponse<'usage.getLimits'>

export const readLimits = (app: string, signal: AbortSignal) =>
  get<'usage.getLimits'>(`admin/usage/${segment(app)}/limits`, {}, { signal })

export const setPlan = ({ app, plan }: { readonly app: string; readonly plan: string }) =>
  put<'usage.setPlan'>(`admin/usage/${segment(app)}/plan`, { plan })
