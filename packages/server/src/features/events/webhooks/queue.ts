import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { storable } from '../../../lib/storable-text.ts'
import type { Claims } from '../queue/index.ts'
import type { Outcome } from './delivery.ts'
import { previousSecretOf } from './webhook.ts'

/** Attempt that belongs to this node until its lease expires. */
export interface Claim {
  readonly id: string
  /** Fencing token: the number of this claim of the row. */
  readonly claim: string
  readonly webhook_id: string
  readonly url: string
  /** Encrypted secret. */
  readonly secret: string | null
  readonly previous_secret: string | null
  readonly event_id: string
  /** Number of earlier attempts that have ended. */
  readonly attempts: number
  readonly body: string
  /** Writer of the event, as the log has it; null for a pruned event, and for a receiver with an address. */
  readonly origin: readonly (string | null)[] | null
  /** Function that gets the event; null for a receiver with an address. */
  readonly function_name: string | null
}

/**
 * Lease in seconds. It is longer than any attempt. It is also short, because attempts of a killed node count as in
 * flight until it expires.
 */
export const leaseSeconds = 15

/** Maximum milliseconds between two polls while attempts of any node are in flight or waiting. */
const inFlightMs = 1000

/** Maximum number of deliveries in flight to a receiver that fails, until one succeeds, and to a function. */
const failingConcurrency = 5

/** Condition of a row that is due and waits for no earlier row. */
const isDue = sql`q.after_id is null and q.after_old_id is null and q.due_at <= now()`

/**
 * Claims due attempts: of each webhook those that have been due longest, within its limit of attempts in flight.
 * Webhooks with the fewest attempts in flight come first. The claim reads by index only what it returns, whatever else
 * waits. It is one statement, because round trips dominate at 50 ms an attempt.
 */
export async function claimAttempts(
  database: Pick<Queryable, 'many'>,
  {
    perReceiver,
    total,
    functions,
  }: {
    readonly perReceiver: number
    readonly total: number
    /** Names of the functions that this node can call. */
    readonly functions: readonly string[]
  },
): Promise<Claims<Claim>> {
  const isHere = sql`(w.function_name is null or w.function_name = any (${[...functions]}::text[]))`
  const rows = await database.many<(Claim | { id: null }) & { next_ms: number | null }>(sql`
    with receiver as materialized (
      select w.id, w.url, w.secret, w.function_name, ${previousSecretOf('w')} as previous_secret,
        case when w.failing_since is null and w.function_name is null then ${perReceiver}::int
          else least(${perReceiver}::int, ${failingConcurrency}::int) end as width
      from basalt.webhooks w
      cross join lateral (
        select from basalt.webhook_queue q where q.webhook_id = w.id and ${isDue} order by q.due_at limit 1
      ) q
      where w.enabled and ${isHere}
      -- One node at a time counts the attempts in flight of a receiver.
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
          -- The limit is a constant, from which the planner sees that it has to read the index in order.
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
        -- This is checked again for a row that another transaction has changed meanwhile.
        and q.due_at <= now()
      returning q.id, q.claim, q.webhook_id, q.event_id, q.attempts, q.body, q.log_id
    ),
    -- Rows that are due already wait for one in flight.
    next as (
      select extract(epoch from min(q.due_at) - now())::float8 * 1000 as next_ms
      from basalt.webhooks w
      cross join lateral (
        select q.due_at from basalt.webhook_queue q
        where q.webhook_id = w.id and q.after_id is null and q.after_old_id is null and q.due_at > now()
        order by q.due_at limit 1
      ) q
      where w.enabled and ${isHere}
    )
    select q.id::text, q.claim::text, q.webhook_id, r.url, r.secret, r.previous_secret,
      q.event_id, q.attempts, q.body, r.function_name, next.next_ms,
      case when r.function_name is not null then (select o.origin::json from basalt.outbox o where o.id = q.log_id) end as origin
    from next left join (claimed q join receiver r on r.id = q.webhook_id) on true`)
  const nextMs = rows[0]?.next_ms ?? undefined
  return {
    claims: rows.filter((row): row is Claim & { next_ms: number | null } => row.id !== null),
    // An attempt of another node may end or be released before its lease expires.
    nextMs: nextMs === undefined ? undefined : Math.min(nextMs, inFlightMs),
  }
}

/** Extends the leases of attempts that may take longer. */
export async function renewClaims(database: Queryable, claims: readonly Claim[]): Promise<void> {
  await database.count(sql`
    update basalt.webhook_queue q
    set due_at = now() + make_interval(secs => ${leaseSeconds}),
      leased_until = now() + make_interval(secs => ${leaseSeconds})
    from unnest(${claims.map(({ id }) => id)}::bigint[], ${claims.map(({ claim }) => claim)}::bigint[]) c (id, claim)
    where q.id = c.id and q.claim = c.claim and q.leased_until is not null`)
}

/** Maximum number of characters of the error of an attempt. */
const longestError = 4000

/** Makes an attempt that was cut off due again. */
export async function releaseClaim(
  database: Queryable,
  { id, claim }: Pick<Claim, 'id' | 'claim'>,
): Promise<void> {
  await database.count(sql`
    update basalt.webhook_queue set due_at = now(), leased_until = null
    where id = ${id}::bigint and claim = ${claim}::bigint`)
}

/** Action that follows an outcome. */
export type NextAction =
  | { readonly kind: 'done' }
  | { readonly kind: 'retry'; readonly seconds: number }
  /** Pauses the webhook. It sends no more, and its queued events remain. */
  | { readonly kind: 'pause'; readonly reason: string }

/**
 * Records an attempt and performs its next action.
 *
 * @param pauseAfterHours hours of failure after which the webhook is paused; 0 means never
 * @returns true if the claim was the latest
 */
export async function settleAttempt(
  database: Queryable,
  { id, claim }: Pick<Claim, 'id' | 'claim'>,
  { success, statusCode, durationMs, error, responseBody }: Outcome,
  next: NextAction,
  pauseAfterHours: number,
): Promise<boolean> {
  const isMine = sql`q.id = ${id}::bigint and q.claim = ${claim}::bigint`
  const row = sql`q.webhook_id, q.event_id, q.event_action, q.event_table, q.log_id, q.record_key, q.old_record_key, q.body`
  const settled =
    next.kind === 'retry'
      ? sql`
        update basalt.webhook_queue q set attempts = attempts + 1, leased_until = null,
          due_at = now() + make_interval(secs => ${next.seconds}::int)
        from webhook w where ${isMine} and q.webhook_id = w.id
        returning ${row}, q.attempts as attempt`
      : sql`
        delete from basalt.webhook_queue q using webhook w where ${isMine} and q.webhook_id = w.id
        returning ${row}, q.attempts + 1 as attempt`
  const webhook = success
    ? sql`set failing_since = null where failing_since is not null`
    : next.kind === 'pause'
      ? sql`set enabled = false, paused_at = now(), paused_reason = ${next.reason}, updated_at = now()
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
    -- The webhook is locked before its queue, in the order in which deleting a webhook locks them.
    with webhook as materialized (
      select id from basalt.webhooks
      where id = (select q.webhook_id from basalt.webhook_queue q where ${isMine})
      for key share
    ),
    settled as (${settled}),
    recorded as (
      insert into basalt.webhook_deliveries (webhook_id, event_id, event_action, event_table, log_id, record_key,
        old_record_key, success, status_code, attempt, duration_ms, error, request_body, response_body)
      select webhook_id, event_id, event_action, event_table, log_id, record_key, old_record_key, ${success}, ${statusCode ?? null}::int, attempt,
        ${durationMs}::int, ${storedOf(error?.slice(0, longestError))}, body, ${storedOf(responseBody)}
      from settled
    ),
    marked as (
      update basalt.webhooks ${webhook} and id in (select webhook_id from settled)
    )
    select count(*)::int as count from settled`)
  return count === 1
}

function storedOf(text: string | undefined): string | null {
  return text === undefined ? null : storable(text)
}

function isOverdue(hours: number) {
  if (hours === 0) return sql`false`
  return sql`coalesce(failing_since < now() - make_interval(hours => ${hours}::int), false)`
}
