import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { findIdAt } from '../outbox/index.ts'

/**
 * Adds each event to the queue of every subscribed webhook, with an id of its own, and notes the earlier rows that it
 * waits for. One transaction at a time calls this, which has locked the cursor of the log.
 *
 * @param ids of rows of `basalt.outbox`, in order
 */
export async function enqueueEvents(ids: readonly string[], transaction: Queryable): Promise<void> {
  await transaction.count(
    enqueue({
      // The CTE is materialized, so that an event has the same id in every queue.
      before: sql`event as materialized (select id, gen_random_uuid() as event_id from unnest(${ids}::bigint[]) id)`,
      fresh: sql`
        select w.webhook_id, event.id as log_id, event.event_id, e.action, e.table_name,
          md5(e.table_name || ' ' || e.record_key)::uuid as record_key,
          md5(e.table_name || ' ' || e.old_record_key)::uuid as old_record_key
        from event
        cross join lateral (${byId(sql`action, table_name, record_key, old_record_key, happened_at`)}) e
        cross join lateral (
          select w.id as webhook_id, w.created_at from basalt.webhooks w
          -- A function that was removed later gets the change if it returns.
          where (w.enabled or (w.function_name is not null and e.happened_at < w.updated_at))
            and e.action = any (w.events) and (w.tables = '{}' or e.table_name = any (w.tables))
          order by w.created_at, w.id
        ) w
        order by event.id, w.created_at, w.webhook_id`,
      content: contentOfLog,
    }),
  )
}

/** Position in the order of a replay. */
export interface ReplayPosition {
  /** Position in the log of changes. Events without one have null and come last. */
  readonly logId: string | null
  readonly eventId: string
}

export const replayChoices = ['failed', 'delivered', 'missed'] as const

/** Selection of events to deliver again. */
export interface Replay {
  readonly webhookId: string
  /**
   * Kind of events. `failed`: no attempt has succeeded. `delivered`: all with an attempt. `missed`: in the log, and
   * never queued.
   */
  readonly which: (typeof replayChoices)[number]
  readonly from: Date | undefined
  /** End of the time range, exclusive. */
  readonly to: Date | undefined
  /** Position at which the previous request ended. */
  readonly after: ReplayPosition | undefined
  readonly limit: number
  /** True if the events are only counted. */
  readonly isDryRun: boolean
}

/**
 * Adds events of a webhook to its queue again, oldest first, except those that the queue already has. The caller has
 * locked the webhook, so that two replays do not queue the same events.
 *
 * @returns the number of events that it has queued or would queue, and the last one
 */
export async function enqueueAgain(
  transaction: Queryable,
  replay: Replay,
): Promise<{ readonly count: number; readonly last: ReplayPosition | undefined }> {
  const { which, from, isDryRun } = replay
  const source =
    which === 'missed'
      ? missedEvents(replay, from && (await findIdAt(transaction, from, 'before')))
      : triedEvents(replay)
  const content = which === 'missed' ? contentOfLog : contentOfDelivery
  const queued = enqueue({ before: sql`event as materialized (${source})`, fresh, content })
  const rows = await transaction.many<{ log_id: string | null; event_id: string }>(
    isDryRun
      ? sql`select log_id::text, event_id from (${source}) s`
      : sql`${queued} returning log_id::text, event_id`,
  )
  const last = rows.at(-1)
  return { count: rows.length, last: last && { logId: last.log_id, eventId: last.event_id } }
}

/**
 * Compiles the condition that events come after the position, in the order of {@link triedEvents} and
 * {@link missedEvents}.
 */
function compileAfter(after: ReplayPosition | undefined, logId: Sql, eventId: Sql): Sql {
  if (after === undefined) return sql.empty
  const last = sql`9223372036854775807`
  return sql`
    and (coalesce(${logId}, ${last}), ${eventId}) > (coalesce(${after.logId}::bigint, ${last}), ${after.eventId}::uuid)`
}

const fresh = sql`select * from event order by log_id, event_id`

/** Compiles the events of the log of deliveries, each once, as it was sent. */
function triedEvents({ webhookId, which, from, to, after, limit }: Replay): Sql {
  const isFailed = sql`
    and not exists (
      select from basalt.webhook_deliveries s
      where s.log_id = d.log_id and s.webhook_id = d.webhook_id and s.success
    )`
  return sql`
    select ${webhookId}::uuid as webhook_id, d.log_id, d.event_id,
      -- All rows of one event have the same values.
      (array_agg(d.event_action))[1] as action, (array_agg(d.event_table))[1] as table_name,
      (array_agg(d.record_key))[1] as record_key, (array_agg(d.old_record_key))[1] as old_record_key,
      (array_agg(d.id))[1] as delivery_id
    from basalt.webhook_deliveries d
    where d.webhook_id = ${webhookId}::uuid ${within(sql`d.delivered_at`, from, to)}
      and not exists (
        select from basalt.webhook_queue q where q.log_id = d.log_id and q.webhook_id = d.webhook_id
      )
      ${which === 'failed' ? isFailed : sql.empty}
      ${compileAfter(after, sql`d.log_id`, sql`d.event_id`)}
    group by d.event_id, d.log_id
    order by d.log_id, d.event_id
    limit ${limit}::int`
}

/**
 * Compiles events of the log of changes that the webhook subscribes to and that were never queued for it. An event
 * keeps the id that other webhooks know.
 *
 * @param first id at which the range begins
 */
function missedEvents({ webhookId, from, to, after, limit }: Replay, first: string | undefined): Sql {
  return sql`
    select ${webhookId}::uuid as webhook_id, o.id as log_id,
      coalesce(
        (select d.event_id from basalt.webhook_deliveries d where d.log_id = o.id limit 1),
        (select q.event_id from basalt.webhook_queue q where q.log_id = o.id limit 1),
        gen_random_uuid()
      ) as event_id,
      o.action, o.table_name,
      md5(o.table_name || ' ' || o.record_key)::uuid as record_key,
      md5(o.table_name || ' ' || o.old_record_key)::uuid as old_record_key
    from basalt.outbox o
    join basalt.webhooks w on w.id = ${webhookId}::uuid
    join basalt.event_cursors c on c.consumer = 'webhooks'
    where o.action = any (w.events) and (w.tables = '{}' or o.table_name = any (w.tables))
      ${first === undefined ? sql.empty : sql`and o.id >= ${first}::bigint`}
      ${within(sql`o.happened_at`, from, to)}
      ${after === undefined ? sql.empty : sql`and o.id > ${after.logId}::bigint`}
      -- Events that the relay has not processed yet are not missed.
      and pg_visible_in_snapshot(o.transaction_id, c.passed)
      and not exists (
        select from basalt.webhook_deliveries d where d.log_id = o.id and d.webhook_id = ${webhookId}::uuid
      )
      and not exists (select from basalt.webhook_queue q where q.log_id = o.id and q.webhook_id = ${webhookId}::uuid)
    order by o.id
    limit ${limit}::int`
}

function within(column: Sql, from: Date | undefined, to: Date | undefined): Sql {
  return sql`
    ${from === undefined ? sql.empty : sql`and ${column} >= ${from}::timestamptz`}
    ${to === undefined ? sql.empty : sql`and ${column} < ${to}::timestamptz`}`
}

interface EnqueueSource {
  /** Common table expressions that `fresh` reads. */
  readonly before: Sql
  /**
   * Rows to add to the queue, in order: `webhook_id`, `log_id`, `event_id`, `action`, `table_name`, `record_key`,
   * `old_record_key`.
   */
  readonly fresh: Sql
  /** Content of a row `f` of `fresh`: `action`, `table_name`, `body`. */
  readonly content: Sql
}

/**
 * Compiles the insert into the queue. A row waits for the latest row before it of the same webhook that is about the
 * same record or truncates its table. A truncation waits for the latest row of its table. If that row is removed, the
 * truncation then waits for the latest remaining row (`basalt.release_deliveries`).
 */
function enqueue({ before, fresh: entering, content }: EnqueueSource): Sql {
  return sql`
    with ${before},
    fresh as materialized (
      select nextval('basalt.webhook_queue_id_seq') as id, e.* from (${entering}) e
    ),
    -- The rows of this batch that each row follows in its table: the latest truncation, and the latest row of all.
    ordered as materialized (
      select id, webhook_id, table_name, action = 'truncate' as is_truncation,
        max(id) filter (where action = 'truncate')
          over (partition by webhook_id, table_name order by id rows between unbounded preceding and 1 preceding) as truncation_id,
        lag(id) over (partition by webhook_id, table_name order by id) as latest_id
      from fresh
    ),
    -- The same rows among those already queued. The latest of all is needed if a truncation comes first.
    tables as materialized (
      select t.webhook_id, t.table_name,
        (
          select q.id from basalt.webhook_queue q
          where q.webhook_id = t.webhook_id and q.event_table = t.table_name and q.event_action = 'truncate'
          order by q.id desc limit 1
        ) as truncation_id,
        case when t.begins_with_truncation then (
          select q.id from basalt.webhook_queue q
          where q.webhook_id = t.webhook_id and q.event_table = t.table_name order by q.id desc limit 1
        ) end as latest_id
      from (
        select webhook_id, table_name, bool_or(is_truncation and latest_id is null) as begins_with_truncation
        from ordered group by webhook_id, table_name
      ) t
    ),
    -- The records of each row, with the row of this batch before it.
    affected as materialized (
      select id, webhook_id, key, lag(id) over (partition by webhook_id, key order by id) as before_id
      from (
        select id, webhook_id, record_key as key from fresh where record_key is not null
        union all
        select id, webhook_id, old_record_key from fresh where old_record_key is not null
      ) t
    ),
    -- The first row of the batch follows the rows already queued.
    found as materialized (
      select t.webhook_id, t.key, greatest(
        (
          select q.id from basalt.webhook_queue q
          where q.webhook_id = t.webhook_id and q.record_key = t.key order by q.id desc limit 1
        ),
        (
          select q.id from basalt.webhook_queue q
          where q.webhook_id = t.webhook_id and q.old_record_key = t.key order by q.id desc limit 1
        )
      ) as id
      from affected t
      where t.before_id is null
    ),
    -- A row that is being removed is waited for and then left out. A row that remains is not removed before this
    -- transaction ends, so that its removal sees the rows that follow it. All rows are locked in one order, so that two
    -- transactions do not deadlock.
    locked as materialized (
      select id from basalt.webhook_queue where id = any (array(
        select id from found where id is not null
        union select truncation_id from tables where truncation_id is not null
        union select latest_id from tables where latest_id is not null
      ))
      order by id
      for key share
    ),
    linked as materialized (
      select t.id, t.key, coalesce(t.before_id, locked.id) as before_id
      from affected t
      left join found on t.before_id is null and found.webhook_id = t.webhook_id and found.key = t.key
      left join locked on locked.id = found.id
    ),
    barriers as materialized (
      select p.id, case when p.is_truncation then coalesce(p.latest_id, latest.id)
        else coalesce(p.truncation_id, truncation.id) end as before_id
      from ordered p
      left join tables t on t.webhook_id = p.webhook_id and t.table_name = p.table_name
      left join locked latest on latest.id = t.latest_id
      left join locked truncation on truncation.id = t.truncation_id
    )
    insert into basalt.webhook_queue (id, webhook_id, event_id, event_action, event_table, log_id, record_key,
      old_record_key, after_id, after_old_id, body)
    overriding system value
    select f.id, f.webhook_id, f.event_id, e.action, e.table_name, f.log_id, f.record_key, f.old_record_key,
      greatest(a.before_id, b.before_id), o.before_id, e.body
    from fresh f
    join barriers b on b.id = f.id
    left join linked a on a.id = f.id and a.key = f.record_key
    left join linked o on o.id = f.id and o.key = f.old_record_key
    cross join lateral (${content}) e
    order by f.id`
}

/** Compiles the JSON body that receivers get for a row of the log. @param row its alias */
export function payloadOfLog(row: string): Sql {
  const [action, table, record, oldRecord] = ['action', 'table_name', 'record', 'old_record'].map((name) =>
    sql.id(row, name),
  )
  return sql`'{"action":"' || ${action} || '","table":' || to_json(${table}) || ',"record":' || ${record}
    || coalesce(',"oldRecord":' || ${oldRecord}, '') || '}'`
}

const contentOfLog = byId(sql`action, table_name, ${payloadOfLog('outbox')} as body`, sql`f.log_id`)

const contentOfDelivery = sql`
  select d.event_action as action, d.event_table as table_name, d.request_body as body
  from basalt.webhook_deliveries d
  where d.id = f.delivery_id`

/** Compiles a read of one row of the log. The limit keeps the planner from reading the whole log for a join. */
function byId(columns: Sql, id = sql`event.id`): Sql {
  return sql`select ${columns} from basalt.outbox where id = ${id} limit 1`
}
