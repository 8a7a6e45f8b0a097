import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { Outcome } from './queries.ts'

/** An attempt that is this node's to make, until its lease runs out. */
export interface Claim {
  readonly id: string
  /** Which claim of the row this is; the word of an earlier one is refused. */
  readonly claim: string
  readonly webhook_id: string
  readonly url: string
  /** Encrypted. */
  readonly secret: string | null
  readonly event_id: string
  /** Attempts that ended before. */
  readonly attempts: number
  readonly body: string
}

/** Longer than any attempt takes, and short: until it runs out, the attempts of a killed node count as in flight. */
export const leaseSeconds = 15

/** A receiver that fails gets no more than so many deliveries at once until one succeeds. */
const failingConcurrency = 5

/**
 * Puts each event into the queue of every webhook that wants it, under one id of its own, and notes which earlier rows
 * it has to wait for. Called by one transaction at a time, which has locked the cursor of the log.
 *
 * @param ids of `basalt.outbox`, in order
 */
export async function enqueueEvents(ids: readonly string[], transaction: Queryable): Promise<void> {
  await transaction.count(sql`
    -- Materialized, so that an event has the same id wherever it goes.
    with event as materialized (select id, gen_random_uuid() as event_id from unnest(${ids}::bigint[]) id),
    fresh as materialized (
      select nextval('basalt.webhook_queue_id_seq') as id, w.webhook_id, event.id as outbox_id, event.event_id,
        md5(e.table_name || ' ' || e.record_key)::uuid as record_key,
        md5(e.table_name || ' ' || e.old_record_key)::uuid as old_record_key
      from event
      cross join lateral (${byId(sql`action, table_name, record_key, old_record_key`)}) e
      cross join lateral (
        select w.id as webhook_id, w.created_at from basalt.webhooks w
        where w.enabled and e.action = any (w.events) and (w.tables = '{}' or e.table_name = any (w.tables))
        order by w.created_at, w.id
      ) w
      order by event.id, w.created_at, w.webhook_id
    ),
    -- Of each row the records it is about, with the row of this batch before it.
    touched as materialized (
      select id, webhook_id, key, lag(id) over (partition by webhook_id, key order by id) as before_id
      from (
        select id, webhook_id, record_key as key from fresh where record_key is not null
        union all
        select id, webhook_id, old_record_key from fresh where old_record_key is not null
      ) t
    ),
    -- The first of the batch follows what the queue holds already.
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
      from touched t
      where t.before_id is null
    ),
    -- One that is being removed is waited for and then left out. One that stays is not removed before this transaction
    -- ends, so that its removal sees what follows it. In one order, so that two transactions do not wait for each other.
    held as materialized (
      select id from basalt.webhook_queue where id = any (array(select id from found where id is not null))
      order by id
      for key share
    ),
    linked as materialized (
      select t.id, t.key, coalesce(t.before_id, held.id) as before_id
      from touched t
      left join found on t.before_id is null and found.webhook_id = t.webhook_id and found.key = t.key
      left join held on held.id = found.id
    )
    insert into basalt.webhook_queue (id, webhook_id, event_id, event_action, event_table, record_key, old_record_key,
      after_id, after_old_id, body)
    overriding system value
    select f.id, f.webhook_id, f.event_id, e.action, e.table_name, f.record_key, f.old_record_key,
      a.before_id, o.before_id,
      '{"action":"' || e.action || '","table":' || to_json(e.table_name) || ',"record":' || e.record
        || coalesce(',"oldRecord":' || e.old_record, '') || '}'
    from fresh f
    left join linked a on a.id = f.id and a.key = f.record_key
    left join linked o on o.id = f.id and o.key = f.old_record_key
    cross join lateral (${byId(sql`action, table_name, record, old_record`, sql`f.outbox_id`)}) e
    order by f.id`)
}

/** One row of the log: a limit keeps the planner from reading all of it for a join. */
function byId(columns: Sql, id = sql`event.id`): Sql {
  return sql`select ${columns} from basalt.outbox where id = ${id} limit 1`
}

/** Ready: it waits for no earlier row. */
const isDue = sql`q.after_id is null and q.after_old_id is null and q.due_at <= now()`

/**
 * Claims attempts that are due: of each webhook those that have been due longest, as many as it may have in flight,
 * those with the fewest in flight first. Reads by index what it takes and no more, whatever waits. One statement: at
 * 50 ms an attempt, round trips are what a receiver waits for.
 */
export async function claimAttempts(
  database: Pick<Queryable, 'many'>,
  { perReceiver, total }: { readonly perReceiver: number; readonly total: number },
): Promise<Claim[]> {
  return await database.many<Claim & Record<string, unknown>>(sql`
    with receiver as materialized (
      select w.id, w.url, w.secret,
        case when w.failing_since is null then ${perReceiver}::int
          else least(${perReceiver}::int, ${failingConcurrency}::int) end as width
      from basalt.webhooks w
      cross join lateral (
        select from basalt.webhook_queue q where q.webhook_id = w.id and ${isDue} order by q.due_at limit 1
      ) q
      where w.enabled
      -- One node at a time counts what a receiver has in flight.
      for no key update of w skip locked
    ),
    counted as materialized (
      select r.*, l.in_flight
      from receiver r
      cross join lateral (
        select count(*) as in_flight from (
          select from basalt.webhook_queue l where l.webhook_id = r.id and l.leased_until > now()
          order by l.leased_until limit ${perReceiver}::int
        ) l
      ) l
    ),
    due as (
      select q.id, r.in_flight + q.ordinal as ordinal
      from counted r
      cross join lateral (
        select q.id, row_number() over (order by q.due_at, q.id) as ordinal
        from (
          select q.id, q.due_at from basalt.webhook_queue q
          where q.webhook_id = r.id and ${isDue}
          -- A constant, from which the planner sees that the index has to be read in its order.
          order by q.due_at, q.id limit ${perReceiver}::int
        ) q
      ) q
      where r.in_flight + q.ordinal <= r.width
    ),
    claimed as (
      update basalt.webhook_queue q
      set claim = q.claim + 1,
        due_at = now() + make_interval(secs => ${leaseSeconds}),
        leased_until = now() + make_interval(secs => ${leaseSeconds})
      where q.id = any (array(select id from due order by ordinal limit ${total}::int))
        -- Asked again of a row that another transaction has changed meanwhile.
        and q.due_at <= now()
      returning q.id, q.claim, q.webhook_id, q.event_id, q.attempts, q.body
    )
    select q.id::text, q.claim::text, q.webhook_id, r.url, r.secret, q.event_id, q.attempts, q.body
    from claimed q join receiver r on r.id = q.webhook_id`)
}

/** Gives an attempt that was cut off to the next worker that looks. */
export async function releaseClaim(
  database: Queryable,
  { id, claim }: Pick<Claim, 'id' | 'claim'>,
): Promise<void> {
  await database.count(sql`
    update basalt.webhook_queue set due_at = now(), leased_until = null
    where id = ${id}::bigint and claim = ${claim}::bigint`)
}

/** What follows from an outcome. */
export type Sequel =
  | { readonly kind: 'done' }
  | { readonly kind: 'again'; readonly seconds: number }
  /** No sense in going on with this webhook; what waits for it waits on. */
  | { readonly kind: 'pause'; readonly reason: string }

/**
 * Records an attempt and what follows from it.
 *
 * @param pauseAfterHours failing for so long pauses the webhook; 0: never
 * @returns whether the attempt was still this node's
 */
export async function settleAttempt(
  database: Queryable,
  { id, claim }: Pick<Claim, 'id' | 'claim'>,
  { success, statusCode, durationMs, error, responseBody }: Outcome,
  sequel: Sequel,
  pauseAfterHours: number,
): Promise<boolean> {
  const isMine = sql`q.id = ${id}::bigint and q.claim = ${claim}::bigint`
  const row = sql`q.webhook_id, q.event_id, q.event_action, q.event_table, q.body`
  const settled =
    sequel.kind === 'again'
      ? sql`
        update basalt.webhook_queue q set attempts = attempts + 1, leased_until = null,
          due_at = now() + make_interval(secs => ${sequel.seconds}::int)
        from webhook w where ${isMine} and q.webhook_id = w.id
        returning ${row}, q.attempts as attempt`
      : sql`
        delete from basalt.webhook_queue q using webhook w where ${isMine} and q.webhook_id = w.id
        returning ${row}, q.attempts + 1 as attempt`
  const webhook = success
    ? sql`set failing_since = null where failing_since is not null`
    : sequel.kind === 'pause'
      ? sql`set enabled = false, paused_at = now(), paused_reason = ${sequel.reason}, updated_at = now()
          where enabled`
      : sql`set
          enabled = enabled and not ${isOverdue(pauseAfterHours)},
          paused_at = case when ${isOverdue(pauseAfterHours)} then now() else paused_at end,
          paused_reason = case when ${isOverdue(pauseAfterHours)}
            then ${`no delivery has succeeded for ${pauseAfterHours} hours`} else paused_reason end,
          updated_at = case when ${isOverdue(pauseAfterHours)} then now() else updated_at end,
          failing_since = coalesce(failing_since, now())
        where enabled and (failing_since is null or ${isOverdue(pauseAfterHours)})`
  const { count } = await database.one<{ count: number }>(sql`
    -- The webhook before its queue, in the order in which the removal of a webhook locks them.
    with webhook as materialized (
      select id from basalt.webhooks
      where id = (select q.webhook_id from basalt.webhook_queue q where ${isMine})
      for key share
    ),
    settled as (${settled}),
    recorded as (
      insert into basalt.webhook_deliveries (webhook_id, event_id, event_action, event_table, success, status_code,
        attempt, duration_ms, error, request_body, response_body)
      select webhook_id, event_id, event_action, event_table, ${success}, ${statusCode ?? null}::int, attempt,
        ${durationMs}::int, ${error ?? null}, body, ${responseBody ?? null}
      from settled
    ),
    marked as (
      update basalt.webhooks ${webhook} and id in (select webhook_id from settled)
    )
    select count(*)::int as count from settled`)
  return count === 1
}

function isOverdue(hours: number) {
  if (hours === 0) return sql`false`
  return sql`coalesce(failing_since < now() - make_interval(hours => ${hours}::int), false)`
}
