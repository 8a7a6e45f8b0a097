import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { longestTransaction, scanLimit } from '../outbox/index.ts'
import { recordKeysOf } from './record-keys.ts'

export interface EventFilter {
  readonly table?: string | undefined
  /** Values of a composite key are joined by commas. */
  readonly record?: string | undefined
  readonly userId?: string | undefined
  readonly requestId?: string | undefined
  readonly action?: string | undefined
  readonly from?: Date | undefined
  /** Exclusive. */
  readonly to?: Date | undefined
}

/** A change, without its record. */
export interface EventRow {
  readonly id: string
  readonly happened_at: Date
  readonly action: string
  readonly table_name: string
  /** Values of the primary key joined by commas; null where there is none. */
  readonly record: string | null
  readonly old_record: string | null
  readonly actor: string
  readonly user_id: string | null
  readonly api_key_id: string | null
  readonly request_id: string | null
  /** Webhooks, by what became of the event. */
  readonly delivered: number
  readonly failed: number
  readonly pending: number
}

/** Of one change of a transaction. */
const keyOf = (column: Sql) =>
  sql`(select string_agg(k, ',' order by n) from json_array_elements_text(${column}::json) with ordinality as e (k, n))`

/** Actor, user, API key or request. */
const originOf = (place: number) => sql`(o.origin::json ->> ${sql.integer(place)})`

const eventColumns = sql`o.id::text, o.happened_at, o.action, o.table_name, ${keyOf(sql`o.record_key`)} as record,
  ${keyOf(sql`o.old_record_key`)} as old_record, coalesce(${originOf(0)}, 'sql') as actor,
  ${originOf(1)} as user_id, ${originOf(2)} as api_key_id, ${originOf(3)} as request_id`

/**
 * Lists the newest first: those of a record by index, others from at most {@link scanLimit} rows.
 *
 * @param before an id that is not included
 */
export async function listEvents(
  database: Queryable,
  filter: EventFilter,
  before: string | undefined,
  limit: number,
): Promise<readonly EventRow[]> {
  const keys = indexedKeysOf(filter)
  const page =
    keys === undefined ? scannedPage(filter, before, limit) : pageOfRecord(keys, filter, before, limit)
  return await database.many<EventRow & Record<string, unknown>>(sql`
    with page as materialized (${page})
    select ${eventColumns}, d.delivered, d.failed, d.pending
    from page o
    cross join lateral (
      select
        count(*) filter (where not is_pending and is_delivered)::int as delivered,
        count(*) filter (where not is_pending and not is_delivered)::int as failed,
        count(*) filter (where is_pending)::int as pending
      from (
        select webhook_id, bool_or(success) as is_delivered, bool_or(is_pending) as is_pending
        from (
          select webhook_id, success, false as is_pending from basalt.webhook_deliveries where log_id = o.id
          union all
          select webhook_id, false, true from basalt.webhook_queue where log_id = o.id
        ) attempt
        group by webhook_id
      ) webhook
    ) d
    order by o.id::bigint desc`)
}

/** Keys of the record that is asked for, where the index has them; undefined where the log has to be read. */
export function indexedKeysOf({ record }: EventFilter): readonly string[] | undefined {
  return record === undefined ? undefined : recordKeysOf(record)
}

function scannedPage(filter: EventFilter, before: string | undefined, limit: number): Sql {
  return sql`
    select o.* from (
      select * from basalt.outbox where ${isBefore(before)} order by id desc limit ${scanLimit}::int
    ) o
    where ${conditionsOf(filter)}
    order by o.id desc limit ${limit}::int`
}

/** A record that was given another key is found by either. */
function pageOfRecord(
  keys: readonly string[],
  { record: _, ...others }: EventFilter,
  before: string | undefined,
  limit: number,
): Sql {
  const newestOf = (column: Sql, condition: Sql) => sql`
    select found.* from unnest(${keys}::text[]) k (key) cross join lateral (
      select o.* from basalt.outbox o
      where o.${column} = k.key and ${isBefore(before)} and ${conditionsOf(others)} and ${condition}
      order by o.id desc limit ${limit}::int
    ) found`
  return sql`
    select * from (
      ${newestOf(sql`record_key`, sql`true`)}
      union all
      ${newestOf(sql`old_record_key`, sql`o.record_key <> all (${keys}::text[])`)}
    ) o
    order by o.id desc limit ${limit}::int`
}

function isBefore(id: string | undefined): Sql {
  return id === undefined ? sql`true` : sql`id < ${id}::bigint`
}

function conditionsOf({ table, record, userId, requestId, action, from, to }: EventFilter): Sql {
  const conditions = [
    sql`true`,
    ...(table === undefined ? [] : [sql`o.table_name = ${table}`]),
    ...(action === undefined ? [] : [sql`o.action = ${action}`]),
    ...(userId === undefined ? [] : [sql`${originOf(1)} = ${userId}`]),
    ...(requestId === undefined ? [] : [sql`${originOf(3)} = ${requestId}`]),
    ...(from === undefined ? [] : [sql`o.happened_at >= ${from}::timestamptz`]),
    ...(to === undefined ? [] : [sql`o.happened_at < ${to}::timestamptz`]),
    // Last, as it costs most.
    ...(record === undefined
      ? []
      : [sql`${record} in (${keyOf(sql`o.record_key`)}, ${keyOf(sql`o.old_record_key`)})`]),
  ]
  return sql.join(conditions, sql` and `)
}

/** The last row that one statement looks at; undefined when it reaches the beginning of the log, or of the time asked for. */
export async function findScanEnd(
  database: Queryable,
  before: string | undefined,
  from: Date | undefined,
): Promise<{ readonly id: string; readonly happened_at: Date } | undefined> {
  return await database.maybeOne<{ id: string; happened_at: Date }>(sql`
    select e.id::text, e.happened_at
    from (
      select id, happened_at from basalt.outbox where ${isBefore(before)} order by id desc limit 1 offset ${scanLimit - 1}::int
    ) e
    where ${from === undefined ? sql`true` : sql`e.happened_at >= ${from}::timestamptz - ${longestTransaction}`}`)
}

/** When the oldest event of the log happened; null while it is empty. */
export async function findKeptSince(database: Queryable): Promise<Date | null> {
  const row = await database.maybeOne<{ happened_at: Date }>(
    sql`select happened_at from basalt.outbox order by id limit 1`,
  )
  return row?.happened_at ?? null
}

export interface EventDetailRow extends Omit<EventRow, 'delivered' | 'failed' | 'pending'> {
  /** What receivers are sent. */
  readonly payload: string
  readonly transaction_id: string
  readonly record_key: string | null
  /** Seconds since it happened. */
  readonly age: number
}

export async function findEvent(
  database: Queryable,
  id: string,
  payload: Sql,
): Promise<EventDetailRow | undefined> {
  return await database.maybeOne<EventDetailRow & Record<string, unknown>>(sql`
    select ${eventColumns}, ${payload} as payload, o.transaction_id::text, o.record_key,
      extract(epoch from clock_timestamp() - o.happened_at)::float8 as age
    from basalt.outbox o
    where o.id = ${id}::bigint`)
}
