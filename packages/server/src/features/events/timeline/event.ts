import { searchBounded } from '../../../database/bounded-search.ts'
import { allOf, conjunction, when } from '../../../database/conditions.ts'
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

/** Members of a change without its record. */
const eventMembers = {
  id: Type.String({ description: 'Position of the change in the log. Later changes have higher ids.' }),
  happenedAt: nullable(timestamp, { description: 'Time at which the transaction began.' }),
  action: Type.String({ description: 'Action: create, update, delete or truncate.' }),
  table: Type.String(),
  record: text('Key of the record. The values of a composite key are joined by commas.'),
  previousRecord: text('Key of the record before an update that changed the key.'),
  actor: text('Kind of caller: user, admin, anonymous, open or sql.'),
  userId: text(),
  apiKeyId: text(),
  requestId: text('`X-Request-Id` of the response to the request that wrote.'),
}

export const ListedEvent = component(
  'ListedEvent',
  Type.Object({
    ...eventMembers,
    deliveries: Type.Object(
      { delivered: Type.Integer(), failed: Type.Integer(), pending: Type.Integer() },
      { description: 'Number of webhooks by outcome of the event.' },
    ),
  }),
)
type ListedEvent = Answered<typeof ListedEvent>

/** Change with its effects. */
export const EventDetail = component(
  'EventDetail',
  Type.Object({
    ...eventMembers,
    isInLog: Type.Boolean(),
    transactionId: text(),
    payload: Type.String({ description: 'JSON body that receivers get.' }),
    consumers: Type.Array(Consumer, {
      description: 'Readers of the log, each with a flag that is true if it has read up to this change.',
    }),
    webhooks: Type.Array(
      Type.Object({
        webhookId: Type.String(),
        url: Type.String(),
        eventId: Type.String({ description: 'Value of the header `webhook-id`.' }),
        state: choice(['pending', 'delivered', 'failed']),
        attempts: Type.Array(Attempt),
        next: nullable(Pending),
      }),
    ),
    streams: Type.Object(
      {
        isLogged: Type.Boolean({
          description: 'True if every stream that subscribed to the table was sure to receive the change.',
        }),
        record: choice(['complete', 'pending', 'incomplete'], {
          description:
            'State of `sent`. `complete`: the list is final. `pending`: nodes write it within a second or two. `incomplete`: a node had more streams than a record holds, or the change is older than `realtime.sent_retention_hours`.',
        }),
        sent: Type.Array(NodeRecord),
        nodes: Type.Array(StreamNode),
      },
      { description: 'Streams by node. The record of the last second is lost if a node is killed.' },
    ),
    jobs: Type.Array(AddedJob, { description: 'Jobs that the same transaction has added.' }),
    embeddings: Type.Array(EmbeddingState, { description: 'Vectors that follow the text of the record.' }),
  }),
)
export type EventDetail = Answered<typeof EventDetail>

export interface EventFilter extends Partial<TimeRange> {
  readonly table?: string | undefined
  /** Key of the record. The values of a composite key are joined by commas. */
  readonly record?: string | undefined
  readonly userId?: string | undefined
  readonly requestId?: string | undefined
  readonly action?: string | undefined
}

/** Compiles the key of a record: its values, joined by commas, or null without a key. */
const keyOf = (column: Sql) =>
  sql`(select string_agg(k, ',' order by n) from json_array_elements_text(${column}::json) with ordinality as e (k, n))`

/** Compiles one member of the origin: actor, user, API key or request. */
const originOf = (index: number) => sql`(found.origin::json ->> ${sql.integer(index)})`

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
 * Lists events, newest first. Those of a record are found by index, others among at most {@link scanLimit} rows.
 *
 * @param before an id that is not included
 * @returns `end`: the last row that was read, if the bound ended the search before the beginning of the range
 */
export async function searchEvents(
  database: Queryable,
  { record, ...others }: EventFilter,
  before: string | undefined,
  limit: number,
) {
  const keys = record === undefined ? undefined : recordKeysOf(record)
  const isBefore = when(before, (id) => sql`found.id < ${id}::bigint`)
  // The record is the last condition, because it costs most.
  const isRecord = when(
    record,
    (key) => sql`${key} in (${keyOf(sql`found.record_key`)}, ${keyOf(sql`found.old_record_key`)})`,
  )
  const conditions = conditionsOf(others)
  const search =
    keys === undefined
      ? {
          read: sql`select * from basalt.outbox found where ${allOf([isBefore])} order by id desc`,
          filter: conjunction([...conditions, isRecord]),
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

/** Compiles the changes of a record. If an update changed its key, either key finds it. */
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

/** Returns the time of the oldest event in the log; null if the log is empty. */
export async function findKeptSince(database: Queryable): Promise<Date | null> {
  const row = await database.maybeOne<{ happened_at: Date }>(
    sql`select happened_at from basalt.outbox order by id limit 1`,
  )
  return row?.happened_at ?? null
}

type EventMembers = Omit<ListedEvent, 'deliveries'>

export interface StoredEvent extends EventMembers {
  readonly happenedAt: Date
  /** JSON body that receivers get. */
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
