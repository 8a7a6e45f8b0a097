import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, choice, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

/* Where a change went: webhooks, streams, jobs, embeddings and consumers of the log. */

/** Creates the schema of a text that may be null. */
export const textOrNull = (description?: string) =>
  nullable(Type.String(), description === undefined ? {} : { description })

/** Webhook that received an event, and the id of the event there. */
interface Destination {
  readonly webhookId: string
  readonly url: string
  readonly eventId: string
}

/** Maximum number of rows of each kind in one response. */
export const mostAttempts = 200
/** Maximum characters of a receiver’s response in the timeline. The delivery holds 64 KiB of it. */
const replyLimit = 2000

export const Attempt = Type.Object({
  id: Type.String({ description: 'Id of the delivery.' }),
  attempt: Type.Integer(),
  success: Type.Boolean(),
  statusCode: nullable(Type.Integer()),
  durationMs: Type.Integer(),
  error: textOrNull(),
  responseBody: textOrNull('The first 2,000 characters of the response.'),
  deliveredAt: timestamp,
})
type Attempt = Answered<typeof Attempt>

/** Lists the newest attempts in chronological order, with the content of each delivery. */
export async function listAttempts(database: Queryable, logId: string) {
  type Content = { readonly action: string; readonly table: string; readonly payload: string }
  const rows = await database.many<Destination & Content & Attempt>(sql`
    select * from (
      select d.webhook_id as "webhookId", w.url, d.event_id as "eventId", d.event_action as action,
        d.event_table as table, d.request_body as payload,
        d.id, d.attempt, d.success, d.status_code as "statusCode", d.duration_ms as "durationMs", d.error,
        left(d.response_body, ${replyLimit}::int) as "responseBody", d.delivered_at as "deliveredAt"
      from basalt.webhook_deliveries d
      join basalt.webhooks w on w.id = d.webhook_id
      where d.log_id = ${logId}::bigint
      order by d.delivered_at desc, d.id
      limit ${mostAttempts}::int
    ) a
    order by a."deliveredAt", a.id`)
  return rows.map(({ webhookId, url, eventId, action, table, payload, ...attempt }) => ({
    ...{ webhookId, url, eventId, action, table, payload },
    attempt,
  }))
}

export const Pending = Type.Object({
  dueAt: timestamp,
  attempts: Type.Integer({ description: 'Number of attempts that have ended.' }),
  isInFlight: Type.Boolean(),
  waitsForEarlier: Type.Boolean({
    description: 'True if an earlier event of the same record has to be delivered first.',
  }),
  isWebhookEnabled: Type.Boolean(),
})
type Pending = Answered<typeof Pending>

/** Lists the pending deliveries of the event in the queues of webhooks. */
export async function listPending(database: Queryable, logId: string) {
  const rows = await database.many<Destination & Pending>(sql`
    select q.webhook_id as "webhookId", w.url, q.event_id as "eventId", q.due_at as "dueAt", q.attempts,
      coalesce(q.leased_until > now(), false) as "isInFlight",
      q.after_id is not null or q.after_old_id is not null as "waitsForEarlier", w.enabled as "isWebhookEnabled"
    from basalt.webhook_queue q
    join basalt.webhooks w on w.id = q.webhook_id
    where q.log_id = ${logId}::bigint
    order by q.id
    limit ${mostAttempts}::int`)
  return rows.map(({ webhookId, url, eventId, ...next }) => ({ webhookId, url, eventId, next }))
}

export const StreamNode = Type.Object({
  node: Type.String(),
  connections: Type.Integer({ description: 'Number of streams that subscribe to the table now.' }),
  connectedBefore: Type.Integer({
    description: 'Number of these streams that were open when the change happened.',
  }),
})
type StreamNode = Answered<typeof StreamNode>

export async function listStreams(
  database: Queryable,
  table: string,
  happenedAt: Date,
): Promise<StreamNode[]> {
  return await database.many<StreamNode>(sql`
    select c.node, count(*)::int as connections,
      count(*) filter (where c.connected_at <= ${happenedAt}::timestamptz)::int as "connectedBefore"
    from basalt.realtime_connections c
    join basalt.realtime_nodes n on n.id = c.node and n.seen_at > now() - interval '10 seconds'
    where ${table} = any (c.tables)
    group by c.node
    order by c.node`)
}

export const NodeRecord = Type.Object({
  node: Type.String(),
  recordedAt: timestamp,
  sent: Type.Integer({ description: 'Number of streams that received the change.' }),
  withheld: Type.Integer({
    description: 'Number of streams of the table that did not receive it, because of policies or filters.',
  }),
  receivers: Type.Array(
    Type.Object({
      connection: Type.String({ description: 'The `clientId` of the stream.' }),
      transport: Type.String({ description: 'Transport: sse or ws.' }),
      caller: choice(['user', 'anonymous', 'admin', 'open']),
      userId: textOrNull(),
    }),
    { description: 'The first ten streams on the node.' },
  ),
})
type NodeRecord = Answered<typeof NodeRecord>

/**
 * Lists the records of nodes about sending the event. `sent` is null in a row without the event: the node had more to
 * record than a row holds (`dropped`), or nothing of this event.
 */
export async function listSent(database: Queryable, logId: string) {
  type Row = Omit<NodeRecord, 'sent'> & { readonly sent: number | null; readonly dropped: number }
  return await database.many<Row>(sql`
    select s.node, s.recorded_at as "recordedAt", (e.entry -> 0)::int as sent, (e.entry -> 1)::int as withheld,
      coalesce((
        select jsonb_agg(jsonb_build_object(
          'connection', t.stream -> 0, 'transport', t.stream -> 1, 'caller', t.stream -> 2, 'userId', t.stream -> 3
        ) order by r.ordinal)
        from jsonb_array_elements_text(e.entry -> 2) with ordinality r (position, ordinal)
        cross join lateral (select s.streams -> r.position::int as stream) t
      ), '[]') as receivers, s.dropped
    from basalt.realtime_sent s
    cross join lateral (select s.entries -> ${logId} as entry) e
    where s.events @> ${logId}::int8 and (e.entry is not null or s.dropped > 0)
    order by s.recorded_at, s.node
    limit ${mostAttempts}::int`)
}

export const AddedJob = Type.Object({
  id: Type.String(),
  type: Type.String(),
  state: choice(['queued', 'running', 'completed', 'failed', 'canceled']),
  attempts: Type.Integer(),
  maxAttempts: Type.Integer(),
  lastError: textOrNull(),
  runAt: timestamp,
  finishedAt: nullable(timestamp),
})
type AddedJob = Answered<typeof AddedJob>

/**
 * Lists jobs that the transaction of the event has added. They are found by the start time of the transaction, which
 * both rows have.
 */
export async function listAddedJobs(database: Queryable, logId: string): Promise<AddedJob[]> {
  return await database.many<AddedJob>(sql`
    select j.id, j.type, j.state, j.attempts, j.max_attempts as "maxAttempts", j.last_error as "lastError",
      j.run_at as "runAt", j.finished_at as "finishedAt"
    from basalt.outbox o
    join basalt.jobs j on j.created_at = o.happened_at and j.transaction_id = o.transaction_id
    where o.id = ${logId}::bigint
    order by j.run_at, j.id
    limit ${mostAttempts}::int`)
}

/** Returns true if all streams of the table were sure to receive the transaction. */
export async function isLoggedForStreams(
  database: Queryable,
  table: string,
  transactionId: string,
): Promise<boolean> {
  const row = await database.maybeOne(sql`
    select from basalt.realtime_tables where table_name = ${table} and logged_since <= ${transactionId}::xid8`)
  return row !== undefined
}

export const EmbeddingState = Type.Object({
  name: Type.String(),
  state: choice(['pending', 'failed', 'done'], { description: 'Current state.' }),
  error: textOrNull(),
})
type EmbeddingState = Answered<typeof EmbeddingState>

/** Lists vectors that follow the text of the record, with their current state. */
export async function listEmbeddingStates(
  database: Queryable,
  table: string,
  recordKey: string,
): Promise<EmbeddingState[]> {
  return await database.many<EmbeddingState>(sql`
    select e.name,
      case when q.embedding is null then 'done' when q.error is null then 'pending' else 'failed' end as state,
      q.error
    from basalt.embeddings e
    left join basalt.embedding_queue q on q.embedding = e.name and q.record_hash = md5(${recordKey})::uuid
    where e.table_name = ${table}
    order by e.name`)
}

export const Consumer = Type.Object({ name: Type.String(), hasTaken: Type.Boolean() })
type Consumer = Answered<typeof Consumer>

/** Lists consumers of the log, each with a flag that is true if it has processed the transaction. */
export async function listConsumers(database: Queryable, transactionId: string): Promise<Consumer[]> {
  return await database.many<Consumer>(sql`
    select consumer as name, pg_visible_in_snapshot(${transactionId}::xid8, passed) as "hasTaken"
    from basalt.event_cursors order by consumer`)
}
