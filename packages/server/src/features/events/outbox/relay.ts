import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { messageOf } from '../../../lib/errors.ts'
import { hasRowsBeyond } from './log-news.ts'

/** What takes events from the log. Each gets every event once, in an order that is right for every record. */
export interface EventConsumer {
  readonly name: string
  /**
   * Takes the events with these ids of `basalt.outbox`, in their order, in the transaction that moves the cursor: both
   * happen or neither.
   */
  take(ids: readonly string[], transaction: Queryable): Promise<void>
  /** After the commit. */
  taken?(): void
}

type Database = Pick<SystemDatabase, 'count' | 'one' | 'transaction'>

/** Longest time an event waits while nothing else happens. */
const idleMs = 150
/** The same while events come. */
const busyMs = 50
/** A leader that is not heard of for so long is replaced. */
const leaseSeconds = 3
const renewMs = 1000
/** How often others look whether the leader is still there. */
const standbyMs = 700
const batchSize = 2000

/**
 * Reads the log for one consumer. One node does it at a time, by a lease; two at once would do no harm, because the
 * cursor is locked while it moves.
 *
 * The cursor is a snapshot: what it sees has been taken, and the next step takes what a newer snapshot sees beyond it.
 * So a transaction that commits late is not skipped, holds up no other, and events of one record come in the order of
 * their commits: a reader that sees the later one sees the earlier one too.
 */
export class Relay {
  readonly #database: Database
  readonly #consumer: EventConsumer
  readonly #log: Logger
  readonly #self = randomUUID()
  #isLeader = false
  #renewedAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isStopped = false

  constructor(database: Database, consumer: EventConsumer, log: Logger) {
    this.#database = database
    this.#consumer = consumer
    this.#log = log
  }

  async start(): Promise<void> {
    await this.#database.count(sql`
      insert into basalt.event_cursors (consumer) values (${this.#consumer.name}) on conflict do nothing`)
    this.#schedule(0)
  }

  /** Finishes the step in flight and lets another node go on at once. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#running
    if (!this.#isLeader) return
    await this.#database
      .count(sql`
        update basalt.event_cursors set leader = null, leased_until = now()
        where consumer = ${this.#consumer.name} and leader = ${this.#self}`)
      .catch(() => undefined)
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(() => {
      this.#running = this.#turn()
        .catch((error) => {
          this.#log.warn({ consumer: this.#consumer.name, reason: messageOf(error) }, 'cannot read the log')
          return standbyMs
        })
        .then((nextMs) => this.#schedule(nextMs))
    }, delayMs)
  }

  /** @returns when to look again */
  async #turn(): Promise<number> {
    if (!(await this.#lead())) return standbyMs
    if (!(await this.#hasNews())) return idleMs
    const count = await this.#database.transaction((transaction) => this.#step(transaction))
    if (count === undefined) this.#isLeader = false
    if (count) this.#consumer.taken?.()
    return count === batchSize ? 0 : busyMs
  }

  /** Takes the lease, or keeps it. */
  async #lead(): Promise<boolean> {
    const begunAt = performance.now()
    if (this.#isLeader && begunAt - this.#renewedAt < renewMs) return true
    const held = await this.#database.count(sql`
      update basalt.event_cursors
      set leader = ${this.#self}, leased_until = now() + make_interval(secs => ${leaseSeconds})
      where consumer = ${this.#consumer.name} and (leader = ${this.#self} or leased_until < now())`)
    this.#isLeader = held === 1
    this.#renewedAt = begunAt
    return this.#isLeader
  }

  async #hasNews(): Promise<boolean> {
    const { has_news } = await this.#database.one<{ has_news: boolean }>(sql`
      select c.target is not null
        or ${hasRowsBeyond(sql`basalt.outbox`, sql`c.passed`)}
        -- Of a cluster that this database was in before.
        or pg_snapshot_xmax(c.passed) > pg_snapshot_xmax(pg_current_snapshot()) as has_news
      from basalt.event_cursors c
      where c.consumer = ${this.#consumer.name}`)
    return has_news
  }

  /** @returns how many events were taken; undefined when another node leads */
  async #step(transaction: Queryable): Promise<number | undefined> {
    const { name } = this.#consumer
    const cursor = await transaction.maybeOne<{ is_foreign: boolean }>(sql`
      select pg_snapshot_xmax(passed) > pg_snapshot_xmax(pg_current_snapshot()) as is_foreign,
        -- What is new is a small part of the log, which the planner cannot know: it would read all of it.
        set_config('enable_seqscan', 'off', true)
      from basalt.event_cursors
      where consumer = ${name} and leader = ${this.#self}
      for update`)
    if (cursor === undefined) return undefined
    if (cursor.is_foreign) await this.#settleIn(transaction)
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
      await this.#consumer.take(
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
   * A database that was restored into another cluster finds transaction numbers that begin anew. Of each event is known
   * by its id whether it was taken; late ones of before are lost with the transactions they were part of.
   */
  async #settleIn(transaction: Queryable): Promise<void> {
    const { name } = this.#consumer
    await transaction.count(sql`
      update basalt.outbox o
      set transaction_id = case when o.id > c.last_id then pg_current_xact_id() else '1' end
      from basalt.event_cursors c
      where c.consumer = ${name}`)
    await transaction.count(sql`
      update basalt.event_cursors set passed = pg_current_snapshot(), target = null where consumer = ${name}`)
  }
}

/** Where a step begins. */
interface Page extends Record<string, unknown> {
  readonly passed: string
  readonly target: string
  /** The last event of the page before; 0 for the first. */
  readonly after: string
}

/** By transaction: all that the newer snapshot may see and the older one does not. */
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

/** By id, so that a page costs the same however many there are. */
function nextPage({ passed, target, after }: Page): Sql {
  return sql`
    select o.id::text from basalt.outbox o
    where o.id > ${after}::bigint
      and not pg_visible_in_snapshot(o.transaction_id, ${passed}::pg_snapshot)
      and pg_visible_in_snapshot(o.transaction_id, ${target}::pg_snapshot)
    order by o.id
    limit ${batchSize}`
}
