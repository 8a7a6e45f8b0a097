import type { Page } from '../../api/queries.ts'
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

/** Lists requests. @param cursor offset, a space, and the end of the searched time range */
export async function listRequests(
  filter: RequestFilter,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Page<AnsweredRequest>> {
  const [start = '0', to = filter.to] = cursor?.split(' ') ?? []
  const offset = Number(start)
  const query = { ...filter, to, limit: pageSize, offset }
  const { items, searchedTo } = await get<'analytics.requests'>(path, query, { signal })
  const next = searchedTo === undefined ? nextOffset(items.length, offset, to) : `0 ${searchedTo}`
  return { items, next, searchedTo }
}

function nextOffset(count: number, offset: number, to: string | undefined): string | undefined {
  return count === pageSize ? [offset + pageSize, ...(to === undefined ? [] : [to])].join(' ') : undefined
}

export const countRequests = (filter: RequestFilter, signal: AbortSignal) =>
  get<'analytics.histogram'>(`${path}/histogram`, filter, { signal })

export async function findRequest(id: string, signal: AbortSignal): Promise<AnsweredRequest | undefined> {
  const query = { request_id: id, limit: 1 }
  const { items } = await get<'analytics.requests'>(path, query, { signal })
  return items[0]
}
