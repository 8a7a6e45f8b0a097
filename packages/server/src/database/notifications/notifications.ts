import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from 'pino'
import { codeOf, messageOf } from '../../lib/errors.ts'
import { systemTimer, type Timer } from '../../lib/timer.ts'
import type { Connection } from '../connection/connection.ts'
import type { DatabaseClock } from '../database-clock.ts'
import { ConnectionLost } from '../errors/failures.ts'
import { sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'
import { NotificationListener } from './listener.ts'
import { NotificationSender } from './sender.ts'
import { type Watch, WatchedTopic } from './topic.ts'

export type { Watch }

export interface WatchHandle {
  /** Moment of {@link Timer.now} whose earlier commits are in force here. */
  readonly currentAt: number
  /** Polls at once. Resolves when all commits before the call are in force. */
  poll(): Promise<void>
}

/** Poll interval of all versions while notifications arrive. Changes by plain SQL notify no node. */
export const listeningMs = 450
/** Poll interval without notifications. */
const pollingMs = 125
/** Pause between two polls of an announced topic. Changes in the pause share the next poll. */
const pollAgainMs = 10

export interface NotificationsOptions {
  readonly database: Pick<Queryable, 'one'>
  /** Opens a connection that no pooler shares; undefined if there is none. */
  readonly openListener: (() => Promise<Connection>) | undefined
  /** Clock that each poll adjusts. */
  readonly clock?: DatabaseClock | undefined
  readonly log: Logger
  readonly timer?: Timer
}

/**
 * Loop of a node that notices changes of the database. It is the only one. A single statement reads the
 * versions of all watched topics, and the node then reads the data of those that differ. A node that has made a
 * change announces it after its commit, by NOTIFY in a transaction of its own, because transactions with NOTIFY
 * commit one at a time. Notifications only shorten the wait: after a lost connection the next poll finds the
 * changes.
 */
export class Notifications {
  readonly #options: NotificationsOptions
  readonly #timer: Timer
  /** Snapshot outside of requests and jobs. A poll does not belong to the one that announced a change. */
  readonly #outside = AsyncLocalStorage.snapshot()
  readonly #topics: WatchedTopic[] = []
  readonly #listener: NotificationListener | undefined
  readonly #sender: NotificationSender | undefined
  #polling: Promise<void> | undefined
  #cancelPoll: (() => void) | undefined
  #state: 'new' | 'running' | 'stopped' = 'new'
  #hasFailed = false
  #interruptions = 0

  constructor(options: NotificationsOptions) {
    const { database, openListener, log, timer = systemTimer } = options
    this.#options = options
    this.#timer = timer
    if (openListener === undefined) return
    this.#listener = new NotificationListener({
      open: openListener,
      database,
      onNotification: (topic) => this.#mark(topic),
      // Topics that were announced before this connection have to be polled.
      onConnect: () => this.#markAll(),
      onLoss: () => {
        this.#interruptions += 1
        this.#schedule()
      },
      log,
      timer,
    })
    this.#sender = new NotificationSender(this.#listener, timer)
  }

  /** True if notifications arrive; otherwise the loop polls. */
  get isListening(): boolean {
    return this.#listener?.connection !== undefined
  }

  /**
   * Number of lost connections and failed polls. Postgres may have crashed in one of them, and emptied unlogged
   * tables.
   */
  get interruptions(): number {
    return this.#interruptions
  }

  /** Adds a watch, before {@link start}. */
  watch(watch: Watch): WatchHandle {
    const topic = new WatchedTopic(watch, this.#options.log)
    this.#topics.push(topic)
    return {
      get currentAt() {
        return topic.currentAt
      },
      poll: () => {
        if (this.#state === 'stopped') return Promise.reject(new Error('the notifications have been stopped'))
        const isInForce = topic.wait()
        this.#schedule()
        return isInForce
      },
    }
  }

  /**
   * Announces a committed change. This node polls at once, and the others are notified. Never waits and never
   * fails.
   */
  announce(topic: string): void {
    if (this.#state === 'stopped') return
    this.#mark(topic)
    // Without a listener the other nodes, which have the same configuration, would not receive it.
    this.#outside(() => this.#sender?.send(topic))
  }

  /** Starts the loop. @throws errors of the first poll or of an `onChange` */
  async start(): Promise<void> {
    await this.#listener?.start()
    // All topics are read now; the new connection has missed nothing.
    for (const topic of this.#topics) topic.isAnnounced = topic.isAwaited
    const begunAt = this.#timer.now()
    const versions = await this.#read(this.#topics)
    await Promise.all(this.#topics.map((topic, index) => topic.begin(versions[index] ?? null, begunAt)))
    this.#state = 'running'
    this.#schedule()
  }

  /** Stops the loop after the work in flight. */
  async stop(): Promise<void> {
    this.#state = 'stopped'
    this.#cancelPoll?.()
    await this.#polling
    await this.#sender?.stop()
    await Promise.all(this.#topics.map(({ running }) => running))
    for (const topic of this.#topics) topic.reject(new Error('the notifications have been stopped'))
    await this.#listener?.stop()
  }

  #mark(topic: string): void {
    for (const each of this.#topics) if (each.watch.topic === topic) each.isAnnounced = true
    this.#schedule()
  }

  #markAll(): void {
    for (const topic of this.#topics) topic.isAnnounced = true
    this.#schedule()
  }

  #intervalOf({ watch }: WatchedTopic): number {
    return watch.everyMs?.() ?? (this.isListening ? listeningMs : pollingMs)
  }

  /** Schedules the next poll. A topic that is being read waits until that has ended. */
  #schedule(): void {
    if (this.#state !== 'running' || this.#polling !== undefined) return
    this.#cancelPoll?.()
    let dueAt = Number.POSITIVE_INFINITY
    for (const topic of this.#topics) {
      if (topic.running !== undefined) continue
      const delayMs = topic.isAnnounced ? pollAgainMs : this.#intervalOf(topic)
      dueAt = Math.min(dueAt, topic.polledAt + delayMs)
    }
    if (dueAt === Number.POSITIVE_INFINITY) return
    this.#cancelPoll = this.#timer.after(Math.max(0, dueAt - this.#timer.now()), () => {
      this.#polling = this.#outside(() => this.#poll()).finally(() => {
        this.#polling = undefined
        this.#schedule()
      })
    })
  }

  async #poll(): Promise<void> {
    const begunAt = this.#timer.now()
    // Topics that have reached half of their interval are polled, too: one transaction instead of two.
    const topics = this.#topics.filter(
      (topic) =>
        topic.running === undefined &&
        (topic.isAnnounced || begunAt - topic.polledAt >= this.#intervalOf(topic) / 2),
    )
    const waiting = topics.map((topic) => topic.beginPoll(begunAt))
    try {
      const versions = await this.#read(topics)
      if (this.#hasFailed) this.#options.log.info('polling the database for changes again')
      this.#hasFailed = false
      for (const [index, topic] of topics.entries())
        topic.compare(versions[index] ?? null, begunAt, waiting[index] ?? [], () => this.#schedule())
    } catch (error) {
      this.#interruptions += 1
      for (const waiter of waiting.flat()) waiter.reject(error)
      // One failing expression must not hide changes of the others.
      if (topics.length > 1 && !(error instanceof ConnectionLost) && codeOf(error)?.startsWith('42') === true)
        await this.#pollOneByOne(topics, begunAt)
      else if (!this.#hasFailed) {
        this.#hasFailed = true
        this.#options.log.warn(
          { reason: messageOf(error) },
          'failed to poll the database for changes; retrying',
        )
      }
    }
  }

  async #pollOneByOne(topics: readonly WatchedTopic[], begunAt: number): Promise<void> {
    for (const topic of topics) {
      try {
        const [version] = await this.#read([topic])
        topic.compare(version ?? null, begunAt, [], () => this.#schedule())
      } catch (error) {
        topic.warn(error)
      }
    }
  }

  /**
   * Reads the versions by one statement. It is not prepared: PostgreSQL would keep the best plan for a small
   * queue, and would read all of a grown one until ANALYZE.
   */
  async #read(topics: readonly WatchedTopic[]): Promise<(string | null)[]> {
    if (topics.length === 0) return []
    const names = topics.map((_, index) => `v${index}`)
    const versions = topics.map(({ version }, index) => sql`(${version})::text as ${sql.id(`v${index}`)}`)
    const time = sql`(extract(epoch from clock_timestamp()) * 1000)::text as time`
    const database = this.#listener ?? this.#options.database
    const queriedAt = this.#timer.now()
    const row = await database.one<Record<string, string | null>>(
      sql`select ${sql.join([...versions, time])}`,
    )
    this.#options.clock?.adjust(Number(row.time), this.#timer.now() - queriedAt)
    return names.map((name) => row[name] ?? null)
  }
}
