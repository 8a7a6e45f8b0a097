import { listByOffset } from '../../api/page-list.ts'
import { get, post, segment } from '../../api/request.ts'

export const jobStates = ['queued', 'running', 'completed', 'failed', 'canceled'] as const
export type JobState = (typeof jobStates)[number]

/** Of `GET /api/admin/jobs`. */
export interface Job {
  readonly id: string
  readonly type: string
  readonly payload: unknown
  readonly state: JobState
  readonly attempts: number
  readonly maxAttempts: number
  /** Empty when the latest attempt did not fail. */
  readonly lastError: string
  readonly runAt: string
  readonly leaseUntil?: string
  readonly lastRunAt?: string
  readonly scheduleId?: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly completedAt?: string
  readonly canceledAt?: string
}

export type JobStats = Readonly<Record<JobState | 'oldestQueuedAgeSec', number>>

export interface NewJob {
  readonly type: string
  readonly payload: unknown
  readonly runAt?: string
}

const pageSize = 50

export const listJobs = (
  filter: { readonly state?: string | undefined; readonly type?: string | undefined },
  cursor: string | undefined,
  signal: AbortSignal,
) => listByOffset<Job>('admin/jobs', { ...filter, limit: pageSize }, cursor, signal)

export const countJobs = (signal: AbortSignal) => get<JobStats>('admin/jobs/stats', {}, { signal })

export const getJob = (id: string, signal: AbortSignal) =>
  get<Job>(`admin/jobs/${segment(id)}`, {}, { signal })

export const enqueueJob = (job: NewJob) => post<Job>('admin/jobs', job)

export const retryJob = (id: string) => post<Job>(`admin/jobs/${segment(id)}/retry`)

export const cancelJob = (id: string) => post<Job>(`admin/jobs/${segment(id)}/cancel`)
