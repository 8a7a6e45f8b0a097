import { get, put, segment } from '../../api/request.ts'

export type Step = 'minute' | 'hour' | 'day'

/** Of `GET /api/admin/analytics/latency`. */
export interface LatencyPoint {
  readonly timestamp: string
  readonly requests: number
  readonly errors: number
  readonly bytes: number
  readonly p50_ms: number | null
  readonly p95_ms: number | null
  readonly p99_ms: number | null
}

export const readLatency = (step: Step, from: string, signal: AbortSignal) =>
  get<{ items: readonly LatencyPoint[] }>('admin/analytics/latency', { step, from }, { signal })

/** Of `GET /api/admin/usage`. */
export interface AppUsage {
  readonly tenantId: string
  readonly tenantName: string
  readonly requestCount: number
  readonly storageBytesUsed: number
  readonly bandwidthBytes: number
  readonly functionInvocations: number
  readonly realtimePeakConnections: number
  readonly jobRuns: number
}

const pageSize = 50

export async function listUsage(period: string, cursor: string | undefined, signal: AbortSignal) {
  const offset = Number(cursor ?? 0)
  const query = { period, limit: pageSize, offset }
  const { items, total } = await get<{ items: readonly AppUsage[]; total: number }>('admin/usage', query, {
    signal,
  })
  return { items, next: offset + items.length < total ? String(offset + pageSize) : undefined }
}

export interface BreakdownItem {
  readonly key: string
  readonly value: number
}

export const readBreakdown = (by: 'endpoint' | 'status_code', period: string, signal: AbortSignal) =>
  get<{ items: readonly BreakdownItem[] }>(
    'admin/usage/breakdown',
    { metric: 'api_requests', group_by: by, period },
    { signal },
  )

export interface Limited {
  readonly limit: number
  readonly used: number
  readonly remaining: number | null
}

/** Of `GET /api/admin/usage/:tenantId/limits`. */
export interface AppLimits {
  readonly plan: string
  readonly metrics: Readonly<
    Record<'api_requests' | 'storage_bytes' | 'bandwidth_bytes' | 'function_invocations', Limited>
  >
}

export const readLimits = (app: string, signal: AbortSignal) =>
  get<AppLimits>(`admin/usage/${segment(app)}/limits`, {}, { signal })

export const setPlan = ({ app, plan }: { readonly app: string; readonly plan: string }) =>
  put<AppLimits>(`admin/usage/${segment(app)}/plan`, { plan })
