import { searchBounded } from '../../../database/bounded-search.ts'
import { allOf, joined, when } from '../../../database/conditions.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { TimeRange } from '../../../http/requests/filters.ts'
import { type Answered, choice, component, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { longestTransactionMs, scanLimit } from '../outbox/index.ts'
import { payloadOfLog } from '../webhooks/index.ts'
import {
  AddedJob,
  Attempt,
  Consumer,
  EmbeddingState,
  NodeRecord,
  Pending,
  StreamNode,
  textOrNull as text,
} from './destinations.ts'
import { recordKeysOf } from './record-keys.ts'

/** Change, without its record. */
const eventMembers = {
  id: Type.String({ description: 'Its position in the log; grows.' }),
  happenedAt: nullable(timestamp, { description: 'When its transaction began.' }),
  action: Type.String({ description: 'create, update, delete or truncate.' }),
  table: Type.String(),
  record: text('Key of the record; values of a composite one are joined by commas.'),
  previousRecord: text('Key of the record before an update that changed it.'),
  actor: text('user, admin, anonymous, open or sql.'),
  userId: text(),
  apiKeyId: text(),
  requestId: text('The `X-Request-Id` of the response.'),
}

export const ListedEvent = component(
  'ListedEvent',
  Type.Object({
    ...eventMembers,
    deliveries: Type.Object(
      { delivered: Type.Integer(), failed: Type.Integer(), pending: Type.Integer() },
      { description: 'Webhooks, by what became of the event.' },
    ),
  }),
)
type ListedEvent = Answered<typeof ListedEvent>

/** Change and what followed from it. */
export const EventDetail = component(
  'EventDetail',
  Type.Object({
    ...eventMembers,
    isInLog: Type.Boolean(),
    transactionId: text(),
    payload: Type.String({ description: 'JSON as receivers are sent it.' }),
    consumers: Type.Array(Consumer, {
      description: 'Readers of the log, and if they have read it up to this change.',
    }),
    webhooks: Type.Array(
      Type.Object({
        webhookId: Type.String(),
        url: Type.String(),
        eventId: Type.String({ description: 'The header `webhook-id`.' }),
        state: choice(['pending', 'delivered', 'failed']),
        attempts: Type.Array(Attempt),
        next: nullable(Pending),
      }),
    ),
    streams: Type.Object(
      {
        isLogged: Type.Boolean({
          description: 'True if every stream that listened to the table was sure to be sent the change.',
        }),
        record: choice(['complete', 'pending', 'incomplete'], {
          description:
            'complete: `sent` is all there was. pending: nodes write it within a second or two. incomplete: a node had more to record than it does, or it is older than `realtime.sent_retention_hours`.',
        }),
        sent: Type.Array(NodeRecord),
        nodes: Type.Array(StreamNode),
      },
      { description: 'By node. A node that is killed takes the record of its last second with it.' },
    ),
    jobs: Type.Array(AddedJob, { description: 'That the same transaction has added.' }),
    embeddings: Type.Array(EmbeddingState, { description: 'Vectors that follow the text of the record.' }),
  }),
)
export type EventDetail = Answered<typeof EventDetail>

export interface EventFilter extends Partial<TimeRange> {
  readonly table?: string | undefined
  /** Values of a composite key are joined by commas. */
  readonly record?: string | undefined
  readonly userId?: string | undefined
  readonly requestId?: string | undefined
  readonly action?: string | undefined
}

/** Key of a record, as its values joined by commas; null where there is none. */
const keyOf = (column: Sql) =>
  sql`(select string_agg(k, ',' order by n) from json_array_elements_text(${column}::json) with ordinality as e (k, n))`

/** Actor, user, API key or request. */
const originOf = (place: number) => sql`(found.origin::json ->> ${sql.integer(place)})`

const columns = sql`found.id::text, found.happened_at as "happenedAt", found.action, found.table_name as table,
  ${keyOf(sql`found.record_key`)} as record, ${keyOf(sql`found.old_record_key`)} as "previousRecord",
  coalesce(${originOf(0)}, 'sql') as actor, ${originOf(1)} as "userId", ${originOf(2)} as "apiKeyId",
  ${originOf(3)} as "requestId"`

const deliveries = sql`(
  select json_build_object(
    'delivered', count(*) filter (where not is_pending and is_delivered),
    'failed', count(*) filter (where not is_pending and not is_delivered),
    'pending', count(*) filter (where is_pending))
  from (
    select webhook_id, bool_or(success) as is_delivered, bool_or(is_pending) as is_pending
    from (
      select webhook_id, success, false as is_pending from basalt.webhook_deliveries where log_id = found.id
      union all
      select webhook_id, false, true from basalt.webhook_queue where log_id = found.id
    ) attempt
    group by webhook_id
  ) webhook
) as deliveries`

/**
 * Lists the newest first: those of a record by index, others from at most {@link scanLimit} rows.
 *
 * @param before an id that is not included
 * @returns `end`: the last row that was read, where the bound ended the search before the beginning of the range
 */
export async function searchEvents(
  database: Queryable,
  { record, ...others }: EventFilter,
  before: string | undefined,
  limit: number,
) {
  const keys = record === undefined ? undefined : recordKeysOf(record)
  const isBefore = when(before, (id) => sql`found.id < ${id}::bigint`)
  // The record last, as it costs most.
  const isRecord = when(
    record,
    (key) => sql`${key} in (${keyOf(sql`found.record_key`)}, ${keyOf(sql`found.old_record_key`)})`,
  )
  const conditions = conditionsOf(others)
  const search =
    keys === undefined
      ? {
          read: sql`select * from basalt.outbox found where ${allOf([isBefore])} order by id desc`,
          filter: joined([...conditions, isRecord]),
        }
      : { read: changesOfRecord(keys, allOf([isBefore, ...conditions]), limit), filter: undefined }
  const { rows, end } = await searchBounded<ListedEvent & { readonly happenedAt: Date }>(
    database,
    {
      ...search,
      columns: sql`${columns}, ${deliveries}`,
      order: sql`order by found.id desc`,
      bound: scanLimit,
    },
    { limit },
  )
  const { from } = others
  const isPast = end !== undefined && from !== undefined && +end.happenedAt < +from - longestTransactionMs
  return { rows, end: isPast ? undefined : end }
}

/** A record that was given another key is found by either. */
function changesOfRecord(keys: readonly string[], matches: Sql, limit: number): Sql {
  const newestOf = (column: Sql, condition: Sql) => sql`
    select newest.* from unnest(${keys}::text[]) k (key) cross join lateral (
      select found.* from basalt.outbox found
      where found.${column} = k.key and ${matches} and ${condition}
      order by found.id desc limit ${limit}::int
    ) newest`
  return sql`
    select * from (
      ${newestOf(sql`record_key`, sql`true`)}
      union all
      ${newestOf(sql`old_record_key`, sql`found.record_key <> all (${keys}::text[])`)}
    ) changes
    order by id desc`
}

function conditionsOf({ table, userId, requestId, action, from, to }: Omit<EventFilter, 'record'>) {
  return [
    when(table, (name) => sql`found.table_name = ${name}`),
    when(action, (name) => sql`found.action = ${name}`),
    when(userId, (id) => sql`${originOf(1)} = lower(${id})`),
    when(requestId, (id) => sql`${originOf(3)} = ${id}`),
    when(from, (time) => sql`found.happened_at >= ${time}::timestamptz`),
    when(to, (time) => sql`found.happened_at < ${time}::timestamptz`),
  ]
}

/** Returns when the oldest event of the log happened; null while it is empty. */
export async function findKeptSince(database: Queryable): Promise<Date | null> {
  const row = await database.maybeOne<{ happened_at: Date }>(
    sql`select happened_at from basalt.outbox order by id limit 1`,
  )
  return row?.happened_at ?? null
}

type EventMembers = Omit<ListedEvent, 'deliveries'>

export interface StoredEvent extends EventMembers {
  readonly happenedAt: Date
  /** JSON as receivers are sent it. */
  readonly payload: string
  readonly transactionId: string
}

/** Returns a change of the log, its key and its age in seconds. */
export async function findEvent(
  database: Queryable,
  id: string,
): Promise<{ event: StoredEvent; recordKey: string | null; age: number } | undefined> {
  const row = await database.maybeOne<StoredEvent & { recordKey: string | null; age: number }>(sql`
    select ${columns}, ${payloadOfLog('found')} as payload, found.transaction_id::text as "transactionId",
      found.record_key as "recordKey", extract(epoch from clock_timestamp() - found.happened_at)::float8 as age
    from basalt.outbox found
    where found.id = ${id}::bigint`)
  if (row === undefined) return undefined
  const { recordKey, age, ...event } = row
  return { event, recordKey, age }
}
