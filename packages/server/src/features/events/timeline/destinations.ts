import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'

/* Where a change went: webhooks, streams, jobs, embeddings and consumers of the log. */

export interface AttemptRow {
  readonly id: string
  readonly webhook_id: string
  readonly event_id: string
  readonly event_action: string
  readonly event_table: string
  readonly url: string
  readonly success: boolean
  readonly status_code: number | null
  readonly attempt: number
  readonly duration_ms: number
  readonly error: string | null
  readonly request_body: string
  readonly response_body: string | null
  readonly delivered_at: Date
}

/** Attempts that one answer shows. */
export const mostAttempts = 200

/** The newest of them, in their order. @param replyLimit characters of an answer that are shown */
export async function listAttempts(
  database: Queryable,
  logId: string,
  replyLimit: number,
): Promise<readonly AttemptRow[]> {
  return await database.many<AttemptRow & Record<string, unknown>>(sql`
    select * from (
      select d.id, d.webhook_id, d.event_id, d.event_action, d.event_table, w.url, d.success, d.status_code, d.attempt,
        d.duration_ms, d.error, d.request_body, left(d.response_body, ${replyLimit}::int) as response_body, d.delivered_at
      from basalt.webhook_deliveries d
      join basalt.webhooks w on w.id = d.webhook_id
      where d.log_id = ${logId}::bigint
      order by d.delivered_at desc, d.id
      limit ${mostAttempts}::int
    ) a
    order by a.delivered_at, a.id`)
}

export interface PendingRow {
  readonly webhook_id: string
  readonly event_id: string
  readonly url: string
  readonly enabled: boolean
  readonly attempts: number
  readonly due_at: Date
  readonly is_in_flight: boolean
  /** Whether an earlier event of the record has to be delivered first. */
  readonly is_waiting: boolean
}

export async function listPending(database: Queryable, logId: string): Promise<readonly PendingRow[]> {
  return await database.many<PendingRow & Record<string, unknown>>(sql`
    select q.webhook_id, q.event_id, w.url, w.enabled, q.attempts, q.due_at,
      coalesce(q.leased_until > now(), false) as is_in_flight,
      q.after_id is not null or q.after_old_id is not null as is_waiting
    from basalt.webhook_queue q
    join basalt.webhooks w on w.id = q.webhook_id
    where q.log_id = ${logId}::bigint
    order by q.id
    limit ${mostAttempts}::int`)
}

export interface StreamRow {
  readonly node: string
  /** Connections that subscribe to the table now. */
  readonly connections: number
  /** Of those, how many were open when it happened. */
  readonly connected_before: number
}

export async function listStreams(
  database: Queryable,
  table: string,
  happenedAt: Date,
): Promise<readonly StreamRow[]> {
  return await database.many<StreamRow & Record<string, unknown>>(sql`
    select c.node, count(*)::int as connections,
      count(*) filter (where c.connected_at <= ${happenedAt}::timestamptz)::int as connected_before
    from basalt.realtime_connections c
    join basalt.realtime_nodes n on n.id = c.node and n.seen_at > now() - interval '10 seconds'
    where ${table} = any (c.tables)
    group by c.node
    order by c.node`)
}

/** What a node has recorded of sending the event. */
export interface SentRow {
  readonly node: string
  readonly recorded_at: Date
  /** Null when the row does not have the event: the node had more to record than a row holds, or nothing of this one. */
  readonly sent: number | null
  readonly withheld: number | null
  /** The first that were sent it. */
  readonly receivers: readonly (readonly [
    id: string,
    transport: string,
    caller: 'user' | 'anonymous' | 'admin' | 'open',
    userId: string | null,
  ])[]
  /** Events that the row could not hold. */
  readonly dropped: number
}

export async function listSent(database: Queryable, logId: string): Promise<readonly SentRow[]> {
  return await database.many<SentRow & Record<string, unknown>>(sql`
    select s.node, s.recorded_at, s.dropped, (e.entry -> 0)::int as sent, (e.entry -> 1)::int as withheld,
      coalesce((
        select jsonb_agg(s.streams -> r.place::int order by r.ordinal)
        from jsonb_array_elements_text(e.entry -> 2) with ordinality r (place, ordinal)
      ), '[]') as receivers
    from basalt.realtime_sent s
    cross join lateral (select s.entries -> ${logId} as entry) e
    where s.events @> ${logId}::int8 and (e.entry is not null or s.dropped > 0)
    order by s.recorded_at, s.node
    limit ${mostAttempts}::int`)
}

export interface AddedJobRow {
  readonly id: string
  readonly type: string
  readonly state: 'queued' | 'running' | 'completed' | 'failed' | 'canceled'
  readonly attempts: number
  readonly max_attempts: number
  readonly last_error: string | null
  readonly run_at: Date
  readonly finished_at: Date | null
}

/** Jobs that the transaction of the event has added; found by the time at which it began, which both have. */
export async function listAddedJobs(database: Queryable, logId: string): Promise<readonly AddedJobRow[]> {
  return await database.many<AddedJobRow & Record<string, unknown>>(sql`
    select j.id, j.type, j.state, j.attempts, j.max_attempts, j.last_error, j.run_at, j.finished_at
    from basalt.outbox o
    join basalt.jobs j on j.created_at = o.happened_at and j.transaction_id = o.transaction_id
    where o.id = ${logId}::bigint
    order by j.run_at, j.id
    limit ${mostAttempts}::int`)
}

/** Whether streams that listen to the table were sure to be sent the transaction. */
export async function isLoggedForStreams(
  database: Queryable,
  table: string,
  transactionId: string,
): Promise<boolean> {
  const row = await database.maybeOne(sql`
    select from basalt.realtime_tables where table_name = ${table} and logged_since <= ${transactionId}::xid8`)
  return row !== undefined
}

export interface EmbeddingStateRow {
  readonly name: string
  readonly state: 'pending' | 'failed' | 'done'
  readonly error: string | null
}

/** Vectors that follow the text of the record, as they stand now. */
export async function listEmbeddingStates(
  database: Queryable,
  table: string,
  recordKey: string,
): Promise<readonly EmbeddingStateRow[]> {
  return await database.many<EmbeddingStateRow & Record<string, unknown>>(sql`
    select e.name, q.error,
      case when q.embedding is null then 'done' when q.error is null then 'pending' else 'failed' end as state
    from basalt.embeddings e
    left join basalt.embedding_queue q on q.embedding = e.name and q.record_hash = md5(${recordKey})::uuid
    where e.table_name = ${table}
    order by e.name`)
}

/** Consumers of the log, and whether they have taken the transaction. */
export async function listConsumers(
  database: Queryable,
  transactionId: string,
): Promise<readonly { readonly consumer: string; readonly has_taken: boolean }[]> {
  return await database.many(sql`
    select consumer, pg_visible_in_snapshot(${transactionId}::xid8, passed) as has_taken
    from basalt.event_cursors order by consumer`)
}
