import { searchBounded } from '../../../database/bounded-search.ts'
import { allOf, conjunction, when } from '../../../database/conditions.ts'
import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { TimeRange } from '../../../http/requests/filters.ts'
import { type Answered, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import type { HistogramSource } from './histogram.ts'
import { scanLimit } from './log.ts'
import { type RequestRows, requestsCopy } from './request-rows.ts'

const bytes = Type.Number({ description: 'Bytes on the connection, including headers.' })

/** Request that a node served. */
export const LoggedRequest = component(
  'LoggedRequest',
  Type.Object({
    id: Type.String(),
    timestamp,
    method: Type.String({ description: '`WS` for an operation over a WebSocket.' }),
    path: Type.String(),
    operation: nullable(Type.String()),
    status_code: Type.Integer(),
    duration_ms: Type.Number(),
    user_id: nullable(Type.String()),
    api_key_id: nullable(Type.String()),
    app_id: Type.String(),
    request_size: bytes,
    response_size: bytes,
    ip_address: nullable(Type.String()),
    request_id: Type.String(),
    impersonated_by: nullable(Type.String(), { description: 'Administrator who acted as the user.' }),
    node: Type.String(),
  }),
)
type LoggedRequest = Answered<typeof LoggedRequest>

const columns = sql`found.id::text, found.happened_at as timestamp, found.method, found.path, found.operation,
  found.status as status_code, round(found.duration_ms::float8::numeric, 3)::float8 as duration_ms, found.user_id,
  found.api_key_id, found.app_id, found.request_size::float8, found.response_size::float8,
  found.address as ip_address, found.request_id, found.impersonated_by, found.node`

/** Inserts requests by one statement, which stays open for as long as further ones arrive. */
export async function insertRequests(
  database: SystemDatabase,
  first: RequestRows,
  following: AsyncIterable<RequestRows>,
): Promise<void> {
  await database.copyIn(requestsCopy, encoded(first, following))
}

async function* encoded(first: RequestRows, following: AsyncIterable<RequestRows>) {
  yield first.encoded
  for await (const { encoded } of following) yield encoded
}

export interface RequestFilter extends Partial<TimeRange> {
  readonly method?: string | undefined
  /** Path, in which `*` matches any text. */
  readonly path?: string | undefined
  /** HTTP status, or a class such as `4xx`. */
  readonly status?: string | undefined
  readonly min_duration_ms?: string | undefined
  readonly user_id?: string | undefined
  readonly api_key_id?: string | undefined
  readonly app_id?: string | undefined
  readonly request_id?: string | undefined
}

/** Returns the conditions of a filter, with and without an index, apart from the time. */
function conditionsOf({ status, ...filter }: RequestFilter) {
  const least = Number(status?.replace('xx', '00'))
  const most = Number(status?.replace('xx', '99'))
  const hasStatus = when(status, () => sql`status between ${least}::int and ${most}::int`)
  // An index has the failed requests.
  const isFailed = least >= 400
  return {
    isFailed,
    indexed: [
      isFailed ? hasStatus : undefined,
      when(filter.user_id, (id) => sql`user_id = lower(${id})`),
      when(filter.api_key_id, (id) => sql`api_key_id = ${id}::uuid`),
      when(filter.request_id, (id) => sql`request_id = ${id}`),
    ],
    filter: conjunction([
      isFailed ? undefined : hasStatus,
      when(filter.method, (method) => sql`method = ${method.toUpperCase()}`),
      when(filter.path, (path) => sql`path like ${toPattern(path)}`),
      when(filter.min_duration_ms, (ms) => sql`found.duration_ms >= ${ms}::real`),
      when(filter.app_id, (id) => sql`app_id = ${id}::uuid`),
    ]),
  }
}

/** Lists requests, the newest first. Filters without an index search at most {@link scanLimit} requests. */
export async function searchRequests(
  database: Queryable,
  request: RequestFilter,
  page: { readonly limit: number; readonly offset: number },
) {
  const { indexed, filter } = conditionsOf(request)
  const range = [
    when(request.from, (time) => sql`happened_at >= ${time}::timestamptz`),
    when(request.to, (time) => sql`happened_at < ${time}::timestamptz`),
  ]
  const order = sql`order by found.happened_at desc, found.id desc`
  return await searchBounded<LoggedRequest>(
    database,
    {
      read: sql`select found.* from basalt.requests found where ${allOf([...indexed, ...range])} ${order}`,
      filter,
      columns,
      order,
      bound: scanLimit,
    },
    page,
  )
}

/** Returns the requests of a filter for a histogram. */
export function requestSource(request: RequestFilter): HistogramSource {
  const { isFailed, ...conditions } = conditionsOf(request)
  return {
    ...conditions,
    rows: sql`select happened_at as time, requests.* from basalt.requests`,
    isError: sql`status >= 500`,
    isSelective: isFailed,
  }
}

/** Returns the pattern for `like`, in which only the `*` of the path is special. */
function toPattern(path: string): string {
  return path.replace(/[\\%_]/g, (sign) => `\\${sign}`).replaceAll('*', '%')
}

export async function deleteRequests(database: Queryable, days: number): Promise<void> {
  await deleteInBatches(database, 'requests', sql`happened_at < now() - make_interval(days => ${days}::int)`)
}
