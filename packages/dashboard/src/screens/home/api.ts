import { type ApiResponse, get } from '../../api/request.ts'

export const readServer = (signal: AbortSignal) => get<'overview.server'>('admin/server', {}, { signal })

export type Report = ApiResponse<'overview.report'>

export const readReport = (signal: AbortSignal) => get<'overview.report'>('admin/report', {}, { signal })

export const countJobs = (signal: AbortSignal) => get<'jobs.count'>('admin/jobs/stats', {}, { signal })

const mostErrors = 5

/** Lists the newest requests that failed. */
export const listErrors = (signal: AbortSignal) =>
  get<'analytics.requests'>('admin/analytics/requests', { status: '5xx', limit: mostErrors }, { signal })
