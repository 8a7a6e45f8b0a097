import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { type LogEntry, storableJson } from './entry.ts'
import { type RequestRows, requestsCopy } from './request-rows.ts'

export async function insertLogs(
  database: Queryable,
  node: string,
  entries: readonly LogEntry[],
): Promise<void> {
  const rows = entries.map(({ time, level, message, attrs, requestId }) => ({
    logged_at: time.toISOString(),
    level,
    message,
    attrs,
    request_id: requestId ?? null,
  }))
  await database.count(sql`
    insert into basalt.logs (logged_at, level, message, attrs, node, request_id)
    select logged_at, level, message, attrs, ${node}, request_id
    from json_to_recordset(${storableJson(rows)}::json) as r (
      logged_at timestamptz, level int, message text, attrs jsonb, request_id text
    )`)
}

/** Inserts what was answered in one statement, which stays open for as long as the following ones come. */
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

export interface LogFilter {
  /** This level and those above it. */
  readonly level?: number | undefined
  /** In the message or the attributes, in any case. */
  readonly text?: string | undefined
  readonly requestId?: string | undefined
  readonly from?: Date | undefined
  /** Exclusive. */
  readonly to?: Date | undefined
}

export interface LogRow {
  readonly id: string
  readonly time: Date
  readonly level: number
  readonly message: string
  readonly attrs: Readonly<Record<string, unknown>>
  readonly node: string
  readonly request_id: string | null
}

/** Where a page ends: what follows is older. */
export interface LogPosition {
  readonly time: Date
  readonly id: string
}

function matches(filter: LogFilter): Sql {
  return sql`${matchesIndexed(filter)} and ${matchesText(filter)}`
}

/** The conditions that an index serves. */
function matchesIndexed({ level, requestId, from, to }: LogFilter): Sql {
  return sql.join(
    [
      sql`true`,
      ...(level === undefined ? [] : [sql`level >= ${level}::int`]),
      ...(requestId === undefined ? [] : [sql`request_id = ${requestId}`]),
      ...(from === undefined ? [] : [sql`time >= ${from}::timestamptz`]),
      ...(to === undefined ? [] : [sql`time < ${to}::timestamptz`]),
    ],
    sql` and `,
  )
}

function matchesText({ text }: LogFilter): Sql {
  return text === undefined
    ? sql`true`
    : sql`strpos(lower(message || ' ' || attrs::text), lower(${text})) > 0`
}

/** Rows that a search without an index reads at most. */
const scanLimit = 20_000

/** Rows of a page, where a list has no other limit. */
const pageSize = 1000

/** Entries, as `log (id, time, …)`. */
const entries: Sql = sql`select id, logged_at as time, level, message, attrs, node, request_id from basalt.logs`

/** The request itself, as the entry that its node would have logged; its id is below those of the log. */
function requestEntry(requestId: string): Sql {
  return sql`
    select -id, happened_at, case when status >= 500 then 50 else 30 end, 'request',
      jsonb_build_object('method', method, 'path', path, 'operation', operation, 'status', status,
        'durationMs', round(duration_ms::numeric, 1), 'address', address, 'userId', user_id),
      node, request_id
    from basalt.requests
    where request_id = ${requestId}`
}

export interface LogPage {
  readonly rows: readonly LogRow[]
  /** The last entry that was read, where that ended a search for a text. */
  readonly end?: LogPosition
}

/** Lists the newest first. A text is searched for in {@link scanLimit} entries at most. */
export async function listLogs(
  database: Queryable,
  filter: LogFilter,
  before: LogPosition | undefined,
  limit: number,
): Promise<LogPage> {
  const { requestId, text } = filter
  const source = requestId === undefined ? entries : sql`${entries} union all ${requestEntry(requestId)}`
  const after =
    before === undefined ? sql`true` : sql`(time, id) < (${before.time}::timestamptz, ${before.id}::bigint)`
  // The column: an id alone would be the text that is selected.
  const order = sql`order by time desc, log.id desc`
  const read = sql`select * from (${source}) log where ${matchesIndexed(filter)} and ${after} ${order}`
  const scanned = text === undefined ? read : sql`${read} limit ${sql.integer(scanLimit)}`
  const rows = await database.many<LogRow & Record<string, unknown>>(sql`
    select id::text, time, level, message, attrs, node, request_id
    from (${scanned}) log
    where ${matchesText(filter)}
    ${order}
    limit ${limit}::int`)
  if (text === undefined || rows.length === limit) return { rows }
  const end = await database.maybeOne<LogPosition & Record<string, unknown>>(
    sql`select id::text, time from (${read} limit 1 offset ${sql.integer(scanLimit - 1)}) log`,
  )
  return end === undefined ? { rows } : { rows, end }
}

/**
 * The newest entries of those that the snapshot sees, oldest first, by pages.
 *
 * @param limit of all pages together
 */
export async function* listLatestLogs(
  database: Queryable,
  filter: LogFilter,
  snapshot: string,
  limit: number,
): AsyncGenerator<readonly LogRow[]> {
  const { requestId } = filter
  const seen = sql`${entries} where pg_visible_in_snapshot(transaction_id, ${snapshot}::pg_snapshot)`
  const source = requestId === undefined ? seen : sql`${seen} union all ${requestEntry(requestId)}`
  // The one before the oldest of them.
  let after = await database.maybeOne<{ id: string; exact_time: string }>(sql`
    select id::text, time::text as exact_time from (${source}) log
    where ${matches(filter)}
    order by time desc, log.id desc
    limit 1 offset ${limit}::bigint`)
  for (let left = limit; left > 0; left -= pageSize) {
    const rows: (LogRow & { exact_time: string })[] = await database.many(sql`
      select id::text, time, level, message, attrs, node, request_id, time::text as exact_time
      from (${source}) log
      where ${matches(filter)}
        ${after === undefined ? sql.empty : sql`and (time, id) > (${after.exact_time}::timestamptz, ${after.id}::bigint)`}
      order by time, log.id
      limit ${Math.min(left, pageSize)}::int`)
    yield rows
    if (rows.length < pageSize) return
    after = rows.at(-1)
  }
}

/** Where a live tail begins: what is not visible in the snapshot is yet to come. */
export async function takeSnapshot(database: Queryable): Promise<string> {
  const { snapshot } = await database.one<{ snapshot: string }>(
    sql`select pg_current_snapshot()::text as snapshot`,
  )
  return snapshot
}

/** What was committed since a snapshot, oldest first, and the next snapshot. */
export async function listLogsSince(
  database: Queryable,
  filter: LogFilter,
  snapshot: string,
): Promise<{ readonly snapshot: string; readonly rows: readonly LogRow[] }> {
  const rows = await database.many<{ snapshot: string; row: Omit<LogRow, 'time'> & { time: string } }>(sql`
    select pg_current_snapshot()::text as snapshot, row_to_json(log) as row
    from (select) one
    left join lateral (
      select id::text, time, level, message, attrs, node, request_id
      from (
        ${entries}
        where transaction_id >= pg_snapshot_xmin(${snapshot}::pg_snapshot)
          and not pg_visible_in_snapshot(transaction_id, ${snapshot}::pg_snapshot)
      ) log
      where ${matches(filter)}
      order by time, log.id
    ) log on true`)
  return {
    snapshot: rows[0]?.snapshot ?? snapshot,
    rows: rows.flatMap(({ row }) => (row?.id == null ? [] : [{ ...row, time: new Date(row.time) }])),
  }
}

/** Both ends are included. */
export interface StatusRange {
  readonly least: number
  readonly most: number
}

export interface RequestFilter {
  readonly method?: string | undefined
  /** A `*` stands for anything. */
  readonly path?: string | undefined
  readonly status?: StatusRange | undefined
  /** Slower than so many milliseconds, or as slow. */
  readonly leastMs?: number | undefined
  readonly userId?: string | undefined
  readonly keyId?: string | undefined
  readonly appId?: string | undefined
  readonly requestId?: string | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

export interface RequestRow {
  readonly id: string
  readonly happened_at: Date
  readonly method: string
  readonly path: string
  readonly operation: string | null
  readonly status: number
  readonly duration_ms: number
  readonly user_id: string | null
  readonly api_key_id: string | null
  readonly app_id: string
  readonly request_size: number
  readonly response_size: number
  readonly address: string | null
  readonly request_id: string
  readonly impersonated_by: string | null
  readonly node: string
}

export interface RequestPage {
  readonly rows: readonly RequestRow[]
  /** When the last request that was read happened, where that ended the search. */
  readonly searchedTo?: Date
}

/** Lists the newest first. What no index serves is searched for in {@link scanLimit} requests at most. */
export async function listRequests(
  database: Queryable,
  filter: RequestFilter,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<RequestPage> {
  const { method, path, status, leastMs, userId, keyId, appId, requestId, from, to } = filter
  const statusMatches =
    status === undefined ? [] : [sql`status between ${status.least}::int and ${status.most}::int`]
  const isFailed = status !== undefined && status.least >= 400
  const indexed = [
    sql`true`,
    ...(isFailed ? statusMatches : []),
    ...(userId === undefined ? [] : [sql`user_id = ${userId}`]),
    ...(keyId === undefined ? [] : [sql`api_key_id = ${keyId}::uuid`]),
    ...(requestId === undefined ? [] : [sql`request_id = ${requestId}`]),
    ...(from === undefined ? [] : [sql`happened_at >= ${from}::timestamptz`]),
    ...(to === undefined ? [] : [sql`happened_at < ${to}::timestamptz`]),
  ]
  const others = [
    ...(isFailed ? [] : statusMatches),
    ...(method === undefined ? [] : [sql`method = ${method.toUpperCase()}`]),
    ...(path === undefined ? [] : [sql`path like ${toPattern(path)}`]),
    ...(leastMs === undefined ? [] : [sql`duration_ms >= ${leastMs}::real`]),
    ...(appId === undefined ? [] : [sql`app_id = ${appId}::uuid`]),
  ]
  const order = sql`order by r.happened_at desc, r.id desc`
  const read = sql`select r.* from basalt.requests r where ${sql.join(indexed, sql` and `)} ${order}`
  const isBounded = others.length > 0
  const source = isBounded ? sql`(${read} limit ${sql.integer(scanLimit)})` : sql`(${read})`
  const rows = await database.many<RequestRow & Record<string, unknown>>(sql`
    select id::text, happened_at, method, path, operation, status, duration_ms, user_id, api_key_id, app_id,
      request_size::float8, response_size::float8, address, request_id, impersonated_by, node
    from ${source} r
    where ${isBounded ? sql.join(others, sql` and `) : sql`true`}
    ${order}
    limit ${limit}::int offset ${offset}::bigint`)
  if (!isBounded || rows.length === limit) return { rows }
  const end = await database.maybeOne<{ happened_at: Date }>(
    sql`select happened_at from (${read} limit 1 offset ${sql.integer(scanLimit - 1)}) r`,
  )
  return end === undefined ? { rows } : { rows, searchedTo: end.happened_at }
}

/** As `like` writes it: of the pattern's own signs only `*` means more than itself. */
function toPattern(path: string): string {
  return path.replace(/[\\%_]/g, (sign) => `\\${sign}`).replaceAll('*', '%')
}

export async function deleteLogs(database: Queryable, days: number): Promise<void> {
  await deleteInBatches(database, 'logs', sql`logged_at < now() - make_interval(days => ${days}::int)`)
}

export async function deleteRequests(database: Queryable, days: number): Promise<void> {
  await deleteInBatches(database, 'requests', sql`happened_at < now() - make_interval(days => ${days}::int)`)
}
