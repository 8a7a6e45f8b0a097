import { get } from '../../api/request.ts'

export const readServer = (signal: AbortSignal) => get<'overview.server'>('admin/server', {}, { signal })

/** Counts the tables and views that the API serves. */
export const countTables = async (signal: AbortSignal) =>
  (await get<'overview.tables'>('admin/tables', { limit: 1 }, { signal })).count

export const countJobs = (signal: AbortSignal) => get<'jobs.count'>('admin/jobs/stats', {}, { signal })

const dayMs = 24 * 60 * 60 * 1000

/** Counts the requests of yesterday and today, in UTC days as the usage does. */
export async function countRequests(signal: AbortSignal): Promise<number> {
  const today = new Date()
  const dayOf = (instant: Date) => instant.toISOString().slice(0, 10)
  const from = dayOf(new Date(today.valueOf() - dayMs))
  const query = { metric: 'api_requests', granularity: 'day', from, to: dayOf(today) }
  const { items } = await get<'usage.trends'>('admin/usage/trends', query, { signal })
  return items.reduce((sum, { value }) => sum + value, 0)
}
