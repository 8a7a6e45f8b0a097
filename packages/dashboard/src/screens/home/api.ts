import { get } from '../../api/request.ts'

/** Of `GET /api/admin/server`. */
export interface ServerInfo {
  readonly version: string
  readonly isAuthRequired: boolean
  readonly database: {
    readonly name: string
    readonly version: string
    readonly isEmbedded: boolean
    readonly sizeBytes: number
    readonly startedAt: string
    readonly connections: number
    readonly maxConnections: number
  }
}

export const readServer = (signal: AbortSignal) => get<ServerInfo>('admin/server', {}, { signal })

/** Tables and views that are served. */
export const countTables = async (signal: AbortSignal) =>
  (await get<{ count: number }>('admin/tables', { limit: 1 }, { signal })).count

/** Of `GET /api/admin/jobs/stats`. */
export interface JobCounts {
  readonly queued: number
  readonly running: number
  readonly completed: number
  readonly failed: number
  readonly canceled: number
  readonly oldestQueuedAgeSec: number
}

export const countJobs = (signal: AbortSignal) => get<JobCounts>('admin/jobs/stats', {}, { signal })

/** Of `GET /api/admin/usage/trends`. */
interface Trend {
  readonly items: readonly { readonly timestamp: string; readonly value: number }[]
}

const dayMs = 24 * 60 * 60 * 1000

/** Requests of yesterday and today, in UTC, as usage is counted. */
export async function countRequests(signal: AbortSignal): Promise<number> {
  const today = new Date()
  const dayOf = (instant: Date) => instant.toISOString().slice(0, 10)
  const from = dayOf(new Date(today.valueOf() - dayMs))
  const query = { metric: 'api_requests', granularity: 'day', from, to: dayOf(today) }
  const { items } = await get<Trend>('admin/usage/trends', query, { signal })
  return items.reduce((sum, { value }) => sum + value, 0)
}
