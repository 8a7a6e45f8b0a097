import { listByOffset } from '../../api/page-list.ts'
import { type Body, get, type Item, post, segment } from '../../api/request.ts'

export const jobStates = ['queued', 'running', 'completed', 'failed', 'canceled'] as const
export type JobState = Job['state']
export type Job = Item<'jobs.list'>
export type NewJob = Body<'jobs.enqueue'>

const pageSize = 50

export const listJobs = (
  filter: Readonly<Partial<Record<'state' | 'type' | 'from' | 'to', string | undefined>>>,
  cursor: string | undefined,
  signal: AbortSignal,
) => listByOffset<'jobs.list'>('admin/jobs', { ...filter, limit: pageSize }, cursor, signal)

export const countJobs = (signal: AbortSignal) => get<'jobs.count'>('admin/jobs/stats', {}, { signal })

export const getJob = (id: string, signal: AbortSignal) =>
  get<'jobs.get'>(`admin/jobs/${segment(id)}`, {}, { signal })

export const enqueueJob = (job: NewJob) => post<'jobs.enqueue'>('admin/jobs', job)

export const retryJob = (id: string) => post<'jobs.retry'>(`admin/jobs/${segment(id)}/retry`)

export const cancelJob = (id: string) => post<'jobs.cancel'>(`admin/jobs/${segment(id)}/cancel`)
