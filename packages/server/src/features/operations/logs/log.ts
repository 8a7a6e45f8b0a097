import { searchBounded } from '../../../database/bounded-search.ts'
import { allOf, when } from '../../../database/conditions.ts'
import { deleteInBatches } from '../../../database/delete-in-batches.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { TimeRange } from '../../../http/requests/filters.ts'
import { type Answered, choice, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import type { HistogramSource } from './histogram.ts'
import { type LevelName, type LogLine, levelNames, levels, storableJson } from './line.ts'

export const LogEntry = component(
  'LogEntry',
  Type.Object({
    time: timestamp,
    level: choice(levelNames),
    message: Type.String(),
    attrs: Type.Object({}, { additionalProperties: true }),
    node: Type.String({ description: 'Host and process.' }),
    requestId: nullable(Type.String()),
  }),
)
export type LogEntry = Answered<typeof LogEntry>

/** Position in the log, by which pages continue. */
export interface LogPosition {
  readonly time: Date
  readonly id: string
}

export interface LogFilter extends Partial<TimeRange> {
  /** Minimum level. */
  readonly level?: LevelName | undefined
  /** Text in the message or the attributes, in any case. Empty matches every entry. */
  readonly q?: string | undefined
  readonly requestId?: string | undefined
  /** True for administrators who may not read contents. They get first lines of messages, without attributes. */
  readonly isBrief?: boolean | undefined
}

/** Returns the message of an entry. A mail that is logged in development, for example, follows the first line. */
const messageOf = ({ isBrief }: LogFilter) =>
  isBrief === true ? sql`split_part(found.message, E'\n', 1)` : sql`found.message`

const columnsOf = (filter: LogFilter) => sql`found.time,
  (${levelNames}::text[])[greatest(1, least(${levelNames.length}::int, found.level / 10))] as level,
  ${messageOf(filter)} as message, ${filter.isBrief === true ? sql`'{}'::jsonb` : sql`found.attrs`} as attrs,
  found.node, found.request_id as "requestId"`

/** Maximum number of rows that a search without an index reads. */
export const scanLimit = 20_000

/** Number of rows of a page, where a list has no other limit. */
const pageSize = 1000

/** Entries, as `found (id, time, …)`. */
const entries: Sql = sql`select id, logged_at as time, level, message, attrs, node, request_id from basalt.logs`

/** Returns the request itself, as the entry that its node would have logged. Its id is below those of the log. */
function requestEntry(requestId: string): Sql {
  return sql`
    select -id, happened_at, case when status >= 500 then 50 else 30 end, 'request',
      jsonb_build_object('method', method, 'path', path, 'operation', operation, 'status', status,
        'durationMs', round(duration_ms::numeric, 1), 'address', address, 'userId', user_id),
      node, request_id
    from basalt.requests
    where request_id = ${requestId}`
}

/** Returns the conditions that an index serves. */
function indexedConditions({ level, requestId, from, to }: LogFilter) {
  return [
    when(level, (name) => sql`level >= ${levels[name]}::int`),
    when(requestId, (id) => sql`request_id = ${id}`),
    when(from, (time) => sql`time >= ${time}::timestamptz`),
    when(to, (time) => sql`time < ${time}::timestamptz`),
  ]
}

function textCondition(filter: LogFilter): Sql | undefined {
  const { q, isBrief } = filter
  const searched = isBrief === true ? messageOf(filter) : sql`found.message || ' ' || found.attrs::text`
  return when(q === '' ? undefined : q, (text) => sql`strpos(lower(${searched}), lower(${text})) > 0`)
}

/** Returns the entries of a filter for a histogram. */
export function logSource({ level, requestId, q, isBrief }: LogFilter): HistogramSource {
  return {
    rows: entries,
    indexed: indexedConditions({ level, requestId }),
    filter: textCondition({ q, isBrief }),
    isError: sql`level >= ${levels.error}::int`,
    isSelective: level !== undefined && levels[level] >= levels.warn,
  }
}

export async function insertLogs(
  database: Queryable,
  node: string,
  entries: readonly LogLine[],
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

/** Lists entries, the newest first. A text is searched in at most {@link scanLimit} entries. */
export async function searchLogs(
  database: Queryable,
  filter: LogFilter,
  before: LogPosition | undefined,
  limit: number,
) {
  const { requestId } = filter
  const source = requestId === undefined ? entries : sql`${entries} union all ${requestEntry(requestId)}`
  const isAfter = when(before, ({ time, id }) => sql`(time, id) < (${time}::timestamptz, ${id}::bigint)`)
  // This names the column, because a plain id would be the selected text.
  const order = sql`order by time desc, found.id desc`
  return await searchBounded<LogEntry & LogPosition>(
    database,
    {
      read: sql`select * from (${source}) found where ${allOf([...indexedConditions(filter), isAfter])} ${order}`,
      filter: textCondition(filter),
      columns: sql`found.id::text, ${columnsOf(filter)}`,
      order,
      bound: scanLimit,
    },
    { limit },
  )
}

/** Lists the newest entries that the snapshot sees, the oldest first, by pages. @param limit of all pages together */
export async function* listLatestLogs(
  database: Queryable,
  filter: LogFilter,
  snapshot: string,
  limit: number,
): AsyncGenerator<readonly LogEntry[]> {
  const { requestId } = filter
  const visible = sql`${entries} where pg_visible_in_snapshot(transaction_id, ${snapshot}::pg_snapshot)`
  const source = requestId === undefined ? visible : sql`${visible} union all ${requestEntry(requestId)}`
  const matches = [...indexedConditions(filter), textCondition(filter)]
  type Position = { readonly id: string; readonly exactTime: string }
  const position = sql`found.id::text, found.time::text as "exactTime"`
  // The position is right before the oldest of them.
  let after = await database.maybeOne<Position>(sql`
    select ${position} from (${source}) found
    where ${allOf(matches)}
    order by time desc, found.id desc
    limit 1 offset ${limit}::bigint`)
  for (let left = limit; left > 0; left -= pageSize) {
    const isAfter = when(
      after,
      ({ id, exactTime }) => sql`(time, id) > (${exactTime}::timestamptz, ${id}::bigint)`,
    )
    const rows: (LogEntry & Position)[] = await database.many(sql`
      select ${position}, ${columnsOf(filter)}
      from (${source}) found
      where ${allOf([...matches, isAfter])}
      order by time, found.id
      limit ${Math.min(left, pageSize)}::int`)
    yield rows.map(({ id: _, exactTime: _time, ...entry }) => entry)
    if (rows.length < pageSize) return
    after = rows.at(-1)
  }
}

/** Returns a snapshot, where a live tail starts. Entries that are not visible in it are still to come. */
export async function takeSnapshot(database: Queryable): Promise<string> {
  const { snapshot } = await database.one<{ snapshot: string }>(
    sql`select pg_current_snapshot()::text as snapshot`,
  )
  return snapshot
}

/** Lists entries that were committed since a snapshot, the oldest first, with the next snapshot. */
export async function listLogsSince(
  database: Queryable,
  filter: LogFilter,
  snapshot: string,
): Promise<{ readonly snapshot: string; readonly rows: readonly LogEntry[] }> {
  type Row = Omit<LogEntry, 'time'> & { readonly time: string }
  const rows = await database.many<{ snapshot: string; row: Row | null }>(sql`
    select pg_current_snapshot()::text as snapshot, row_to_json(log) as row
    from (select) one
    left join lateral (
      select ${columnsOf(filter)}
      from (
        ${entries}
        where transaction_id >= pg_snapshot_xmin(${snapshot}::pg_snapshot)
          and not pg_visible_in_snapshot(transaction_id, ${snapshot}::pg_snapshot)
      ) found
      where ${allOf([...indexedConditions(filter), textCondition(filter)])}
      order by time, found.id
    ) log on true`)
  return {
    snapshot: rows[0]?.snapshot ?? snapshot,
    rows: rows.flatMap(({ row }) => (row?.time == null ? [] : [{ ...row, time: new Date(row.time) }])),
  }
}

export async function deleteLogs(database: Queryable, days: number): Promise<void> {
  await deleteInBatches(database, 'logs', sql`logged_at < now() - make_interval(days => ${days}::int)`)
}
