import { sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'
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

/** Longer than any attempt takes, and short: until it runs out, the attempts of a killed node count as under way. */
export const leaseSeconds = 15

/** A receiver that fails gets no more than so many deliveries at once until one succeeds. */
const failingConcurrency = 5

/**
 * Puts each event into the queue of every webhook that wants it, under one id of its own.
 *
 * @param ids of `basalt.outbox`, in order
 */
export async function enqueueEvents(ids: readonly string[], transaction: Queryable): Promise<void> {
  await transaction.count(sql`
    -- Materialized, so that an event has the same id wherever it goes.
    with event as materialized (select id, gen_random_uuid() as event_id from unnest(${ids}::bigint[]) id)
    insert into basalt.webhook_queue
      (webhook_id, event_id, event_action, event_table, record_key, old_record_key, body)
    select w.id, event.event_id, e.action, e.table_name,
      md5(e.table_name || ' ' || e.record_key)::uuid,
      md5(e.table_name || ' ' || e.old_record_key)::uuid,
      '{"action":"' || e.action || '","table":' || to_json(e.table_name) || ',"record":' || e.record
        || coalesce(',"oldRecord":' || e.old_record, '') || '}'
    from event
    join basalt.outbox e on e.id = event.id
    join basalt.webhooks w
      on w.enabled and e.action = any (w.events) and (w.tables = '{}' or e.table_name = any (w.tables))
    order by e.id, w.created_at, w.id`)
}

/**
 * Claims attempts that are due: of each record and webhook the oldest event, of each webhook as many as it may have
 * under way, those with the fewest under way first.
 */
export async function claimAttempts(
  database: Queryable,
  limits: { readonly perReceiver: number; readonly total: number },
): Promise<Claim[]> {
  return await database.many<Claim & Record<string, unknown>>(sql`
    with receiver as materialized (
      select w.id, w.url, w.secret,
        case when w.failing_since is null then ${limits.perReceiver}::int
          else least(${limits.perReceiver}::int, ${failingConcurrency}::int) end as width,
        (
          select count(*) from basalt.webhook_queue l where l.webhook_id = w.id and l.leased_until > now()
        ) as running
      from basalt.webhooks w
      where w.enabled
        and exists (select from basalt.webhook_queue q where q.webhook_id = w.id and q.due_at <= now())
      -- One node at a time counts what a receiver has under way.
      for no key update skip locked
    ),
    due as materialized (
      select r.url, r.secret, q.id, r.running + row_number() over (partition by r.id order by q.id) as place
      from receiver r
      cross join lateral (
        select q.id
        from basalt.webhook_queue q
        where q.webhook_id = r.id and q.due_at <= now()
          and not exists (
            select from basalt.webhook_queue e
            where e.webhook_id = q.webhook_id and e.id < q.id and e.record_key = q.record_key
          )
          and not exists (
            select from basalt.webhook_queue e
            where e.webhook_id = q.webhook_id and e.id < q.id and e.record_key = q.old_record_key
          )
          and not exists (
            select from basalt.webhook_queue e
            where e.webhook_id = q.webhook_id and e.id < q.id and e.old_record_key = q.record_key
          )
        order by q.id
        limit greatest(r.width - r.running, 0)
      ) q
    ),
    chosen as (select id, url, secret from due order by place limit ${limits.total}::int)
    update basalt.webhook_queue q
    set claim = q.claim + 1,
      due_at = now() + make_interval(secs => ${leaseSeconds}),
      leased_until = now() + make_interval(secs => ${leaseSeconds})
    from chosen c
    -- Asked again of a row that another node has claimed meanwhile.
    where q.id = c.id and q.due_at <= now()
    returning q.id::text, q.claim::text, q.webhook_id, c.url, c.secret, q.event_id, q.attempts, q.body`)
}

/** Gives an attempt that was cut off to whoever looks next. */
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
