import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { Interests } from './interests.ts'
import { hasRowsBeyond, outboxTopic } from './unread-rows.ts'

/** Consumer of events. It receives every event once, in an order that is right for every record. */
export interface EventConsumer {
  readonly name: string
  /**
   * Handles the events with these ids of `basalt.outbox`, in their order, in the transaction that moves the cursor.
   * Both happen or neither.
   */
  process(ids: readonly string[], transaction: Queryable): Promise<void>
  /** Runs after the commit. */
  committed?(): void
}

type Database = Pick<SystemDatabase, 'count' | 'one' | 'transaction'>

export interface RelayOptions {
  readonly database: Database
  readonly consumer: EventConsumer
  readonly notifications: Pick<Notifications, 'watch' | 'isLeading'>
  readonly interests?: Pick<Interests, 'isAny'>
  readonly log: Logger
}

/** Milliseconds between two polls of the log while it has listeners. Changes by plain SQL are not announced. */
const pollMs = 150
/** Milliseconds during which new events are gathered into one step. */
const batchDelayMs = 50
/** Lease in seconds. A leader that does not renew it for so long is replaced. */
const leaseSeconds = 4
const renewMs = 2000
const batchSize = 2000

/** Versions that need no step: another node leads, or nothing is new. */
const quiet: ReadonlySet<string | null> = new Set([null, 'standby', 'idle'])

/**
 * Reader of the log for one consumer. One node at a time reads, by a lease. Two readers at once would do no harm,
 * because the cursor is locked while it moves.
 *
 * The cursor is a snapshot. Everything that it sees has been processed. The next step processes what a newer
 * snapshot sees beyond it. So a transaction that commits late is not skipped and does not hold up others. Events of one
 * record arrive in the order of their commits, because a snapshot that sees the later event sees the earlier one too.
 */
export class Relay {
  readonly #options: RelayOptions
  readonly #self = randomUUID()
  #isLeader = false
  #renewedAt = Number.NEGATIVE_INFINITY
  #renewal: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isStopped = false

  constructor(options: RelayOptions) {
    this.#options = options
    const { notifications, interests, consumer } = options
    notifications.watch({
      topic: outboxTopic,
      version: this.#version(consumer.name),
      everyMs: () => (this.#isLeader && interests?.isAny === true ? pollMs : undefined),
      // The leader of a machine tries to acquire a free lease.
      isForLeader: () => !this.#isLeader,
      onChange: (version) => {
        if (quiet.has(version) || this.#isStopped) return undefined
        this.#running = this.#drain()
        return this.#running
      },
    })
  }

  async start(): Promise<void> {
    const { database, consumer, notifications, log } = this.#options
    await database.count(sql`
      insert into basalt.event_cursors (consumer) values (${consumer.name}) on conflict do nothing`)
    this.#renewal = setInterval(() => {
      if (!this.#isLeader) return
      // The worker that polls for the machine reads the log without polls of its own.
      const renewed = notifications.isLeading ? this.#lead() : this.#release()
      renewed.catch((error) =>
        log.warn(
          { consumer: consumer.name, reason: messageOf(error) },
          'failed to renew the lease of the log; retrying',
        ),
      )
    }, renewMs).unref()
  }

  /** Finishes the step in flight and lets another node continue at once. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#renewal)
    await this.#running?.catch(() => undefined)
    if (this.#isLeader) await this.#release().catch(() => undefined)
  }

  async #release(): Promise<void> {
    const { database, consumer } = this.#options
    await database.count(sql`
      update basalt.event_cursors set leader = null, leased_until = now()
      where consumer = ${consumer.name} and leader = ${this.#self}`)
    this.#isLeader = false
  }

  /** Compiles the version. It differs from poll to poll while the lease is free or events are unread. */
  #version(consumer: string): Sql {
    return sql`
      select case
        when c.leader is distinct from ${this.#self}::uuid
          then case when c.leased_until < now() then 'free ' || clock_timestamp() else 'standby' end
        when c.target is not null
          or ${hasRowsBeyond(sql`basalt.outbox`, sql`c.passed`)}
          -- The snapshot is from a cluster that this database was in before.
          or pg_snapshot_xmax(c.passed) > pg_snapshot_xmax(pg_current_snapshot())
          then 'unread ' || clock_timestamp()
        else 'idle' end
      from basalt.event_cursors c
      where c.consumer = ${consumer}`
  }

  /** Handles all unread events. */
  async #drain(): Promise<void> {
    const { database, consumer } = this.#options
    if (!(await this.#lead())) return
    for (;;) {
      const count = await database.transaction((transaction) => this.#step(transaction))
      if (count === undefined) this.#isLeader = false
      if (!count) return
      consumer.committed?.()
      if (this.#isStopped) return
      if (count < batchSize) return await delay(batchDelayMs, undefined, { ref: false })
    }
  }

  /** Acquires or renews the lease. */
  async #lead(): Promise<boolean> {
    const startedAt = performance.now()
    if (this.#isLeader && startedAt - this.#renewedAt < renewMs / 2) return true
    const held = await this.#options.database.count(sql`
      update basalt.event_cursors
      set leader = ${this.#self}, leased_until = now() + make_interval(secs => ${leaseSeconds})
      where consumer = ${this.#options.consumer.name} and (leader = ${this.#self} or leased_until < now())`)
    this.#isLeader = held === 1
    this.#renewedAt = startedAt
    return this.#isLeader
  }

  /** @returns the number of processed events; undefined if another node leads */
  async #step(transaction: Queryable): Promise<number | undefined> {
    const { name } = this.#options.consumer
    const cursor = await transaction.maybeOne<{ is_foreign: boolean; current: string }>(sql`
      select pg_snapshot_xmax(passed) > pg_snapshot_xmax(pg_current_snapshot()) as is_foreign,
        pg_current_snapshot()::text as current,
        -- New events are a small part of the log. The planner cannot know this and would read the whole log.
        set_config('enable_seqscan', 'off', true),
        -- Before PostgreSQL 18 a sequential scan then seems so expensive that every statement is compiled, for seconds.
        set_config('jit', 'off', true)
      from basalt.event_cursors
      where consumer = ${name} and leader = ${this.#self}
      for update`)
    if (cursor === undefined) return undefined
    if (cursor.is_foreign) await this.#rebase(transaction, cursor.current)
    const page = await transaction.one<Page>(sql`
      update basalt.event_cursors set
        target = coalesce(target, pg_current_snapshot()),
        target_id = case when target is null then 0 else target_id end
      where consumer = ${name}
      returning passed::text, target::text, target_id::text as after`)
    const events = await transaction.many<{ id: string }>(
      page.after === '0' ? firstPage(page) : nextPage(page),
    )
    const last = events.at(-1)?.id ?? '0'
    if (events.length > 0)
      await this.#options.consumer.process(
        events.map(({ id }) => id),
        transaction,
      )
    const isDone = events.length < batchSize
    await transaction.count(sql`
      update basalt.event_cursors set
        passed = case when ${isDone} then target else passed end,
        target = case when ${isDone} then null else target end,
        target_id = ${last}::bigint,
        last_id = greatest(last_id, ${last}::bigint)
      where consumer = ${name}`)
    return events.length
  }

  /**
   * Moves the cursor into another cluster, in which a restored database has new transaction numbers. The id of an event
   * shows whether it was processed. Transactions that were running before the restore are lost together with their
   * events.
   *
   * @param before a snapshot from before this transaction had a number. In a later snapshot this transaction would
   * count as passed once a younger one has ended
   */
  async #rebase(transaction: Queryable, before: string): Promise<void> {
    const { name } = this.#options.consumer
    await transaction.count(sql`
      update basalt.outbox o
      set transaction_id = case when o.id > c.last_id then pg_current_xact_id() else '1' end
      from basalt.event_cursors c
      where c.consumer = ${name}`)
    await transaction.count(sql`
      update basalt.event_cursors set passed = ${before}::pg_snapshot, target = null where consumer = ${name}`)
  }
}

/** Range of one page. */
interface Page extends Record<string, unknown> {
  readonly passed: string
  readonly target: string
  /** Id of the last event of the previous page; 0 for the first page. */
  readonly after: string
}

/** Compiles the first page, by transaction: all events that the newer snapshot may see and the older one does not. */
function firstPage({ passed, target }: Page): Sql {
  return sql`
    with fresh as materialized (
      select id, transaction_id from basalt.outbox
      where transaction_id >= pg_snapshot_xmax(${passed}::pg_snapshot)
      union all
      select id, transaction_id from basalt.outbox
      where transaction_id = any (array(select pg_snapshot_xip(${passed}::pg_snapshot)))
    )
    select id::text from fresh
    where pg_visible_in_snapshot(transaction_id, ${target}::pg_snapshot)
    order by fresh.id
    limit ${batchSize}`
}

/** Compiles a later page, by id, so that a page costs the same however many there are. */
function nextPage({ passed, target, after }: Page): Sql {
  return sql`
    select o.id::text from basalt.outbox o
    where o.id > ${after}::bigint
      and not pg_visible_in_snapshot(o.transaction_id, ${passed}::pg_snapshot)
      and pg_visible_in_snapshot(o.transaction_id, ${target}::pg_snapshot)
    order by o.id
    limit ${batchSize}`
}
