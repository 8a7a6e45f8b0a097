import { listByOffset } from '../../api/page-list.ts'
import { get, type Item } from '../../api/request.ts'

export type AnsweredRequest = Item<'analytics.requests'>

export const requestFilters = [
  'method',
  'path',
  'status',
  'min_duration_ms',
  'user_id',
  'api_key_id',
  'app_id',
  'from',
  'to',
] as const
export type RequestFilter = Partial<Readonly<Record<(typeof requestFilters)[number], string | undefined>>>

const pageSize = 100

const path = 'admin/analytics/requests'

export const listRequests = (filter: RequestFilter, cursor: string | undefined, signal: AbortSignal) =>
  listByOffset<'analytics.requests'>(path, { ...filter, limit: pageSize }, cursor, signal)

export async function findRequest(id: string, signal: AbortSignal): Promise<AnsweredRequest | undefined> {
  const query = { request_id: id, limit: 1 }
  const { items } = await get<'analytics.requests'>(path, query, { signal })
  return items[0]
}
