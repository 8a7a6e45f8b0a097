import { listByOffset } from '../../api/page-list.ts'
import { get } from '../../api/request.ts'

/** Of `GET /api/admin/analytics/requests`. */
export interface AnsweredRequest {
  readonly id: string
  readonly timestamp: string
  readonly method: string
  readonly path: string
  readonly operation: string | null
  readonly status_code: number
  readonly duration_ms: number
  readonly user_id: string | null
  readonly api_key_id: string | null
  readonly app_id: string
  readonly request_size: number
  readonly response_size: number
  readonly ip_address: string | null
  readonly request_id: string
  readonly node: string
}

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
  listByOffset<AnsweredRequest>(path, { ...filter, limit: pageSize }, cursor, signal)

export async function findRequest(id: string, signal: AbortSignal): Promise<AnsweredRequest | undefined> {
  const query = { request_id: id, limit: 1 }
  const { items } = await get<{ items: AnsweredRequest[] }>(path, query, { signal })
  return items[0]
}
