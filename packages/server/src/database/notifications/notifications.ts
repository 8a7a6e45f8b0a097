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
  /** What was committed before this moment of {@link Timer.now} is in force here. */
  readonly currentAt: number
  /** Looks at once. Resolves when what was committed before the call is in force. */
  look(): Promise<void>
}

/** How often all versions are looked at while notifications arrive: what plain SQL changes notifies no node. */
export const listeningMs = 450
/** The same without notifications. */
const pollingMs = 125
/** Between two looks at an announced topic: what comes meanwhile shares the next. */
const lookAgainMs = 10

export interface NotificationsOptions {
  readonly database: Pick<Queryable, 'one'>
  /** Opens a connection that no pooler shares; undefined where there is none. */
  readonly openListener: (() => Promise<Connection>) | undefined
  /** Is adjusted by each look. */
  readonly clock?: DatabaseClock | undefined
  readonly log: Logger
  readonly timer?: Timer
}

/**
 * The one loop of a node that notices changes of the database: a single statement reads the versions of all that is
 * watched, and what belongs to those that differ is read. A node that has changed something announces it after its commit,
 * by NOTIFY in a transaction of its own: transactions that NOTIFY commit one after the other. Notifications only shorten
 * the wait; what is lost with a connection is found by the next look.
 */
export class Notifications {
  readonly #options: NotificationsOptions
  readonly #timer: Timer
  /** A look belongs neither to the request nor to the job that has announced a change. */
  readonly #outside = AsyncLocalStorage.snapshot()
  readonly #topics: WatchedTopic[] = []
  readonly #listener: NotificationListener | undefined
  readonly #sender: NotificationSender | undefined
  #looking: Promise<void> | undefined
  #cancelLook: (() => void) | undefined
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
      // What was announced before this connection has to be looked for.
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

  /** Whether notifications arrive; else the loop polls. */
  get isListening(): boolean {
    return this.#listener?.connection !== undefined
  }

  /** How often a connection was lost or a look has failed: in between Postgres may have crashed, with unlogged tables. */
  get interruptions(): number {
    return this.#interruptions
  }

  /** Before {@link start}. */
  watch(watch: Watch): WatchHandle {
    const topic = new WatchedTopic(watch, this.#options.log)
    this.#topics.push(topic)
    return {
      get currentAt() {
        return topic.currentAt
      },
      look: () => {
        if (this.#state === 'stopped') return Promise.reject(new Error('the notifications have been stopped'))
        const isInForce = topic.wait()
        this.#schedule()
        return isInForce
      },
    }
  }

  /** After the commit of a change: this node looks at once, the others are notified. Never waits and never fails. */
  announce(topic: string): void {
    if (this.#state === 'stopped') return
    this.#mark(topic)
    // Without a way to listen the others, configured alike, would not hear of it.
    this.#outside(() => this.#sender?.send(topic))
  }

  /** @throws what the first look or an `onChange` has thrown */
  async start(): Promise<void> {
    await this.#listener?.start()
    // All are read now: the connection that has just been made missed nothing.
    for (const topic of this.#topics) topic.isAnnounced = topic.isAwaited
    const begunAt = this.#timer.now()
    const versions = await this.#read(this.#topics)
    await Promise.all(this.#topics.map((topic, index) => topic.begin(versions[index] ?? null, begunAt)))
    this.#state = 'running'
    this.#schedule()
  }

  /** Ends with what is in flight. */
  async stop(): Promise<void> {
    this.#state = 'stopped'
    this.#cancelLook?.()
    await this.#looking
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

  /** Plans the next look. A topic that is being read waits until that has ended. */
  #schedule(): void {
    if (this.#state !== 'running' || this.#looking !== undefined) return
    this.#cancelLook?.()
    let dueAt = Number.POSITIVE_INFINITY
    for (const topic of this.#topics) {
      if (topic.running !== undefined) continue
      const delayMs = topic.isAnnounced ? lookAgainMs : this.#intervalOf(topic)
      dueAt = Math.min(dueAt, topic.lookedAt + delayMs)
    }
    if (dueAt === Number.POSITIVE_INFINITY) return
    this.#cancelLook = this.#timer.after(Math.max(0, dueAt - this.#timer.now()), () => {
      this.#looking = this.#outside(() => this.#look()).finally(() => {
        this.#looking = undefined
        this.#schedule()
      })
    })
  }

  async #look(): Promise<void> {
    const begunAt = this.#timer.now()
    // Those of which half the time has passed come along: one transaction instead of two.
    const topics = this.#topics.filter(
      (topic) =>
        topic.running === undefined &&
        (topic.isAnnounced || begunAt - topic.lookedAt >= this.#intervalOf(topic) / 2),
    )
    const waiting = topics.map((topic) => topic.beginLook(begunAt))
    try {
      const versions = await this.#read(topics)
      if (this.#hasFailed) this.#options.log.info('noticing changes of the database again')
      this.#hasFailed = false
      for (const [index, topic] of topics.entries())
        topic.compare(versions[index] ?? null, begunAt, waiting[index] ?? [], () => this.#schedule())
    } catch (error) {
      this.#interruptions += 1
      for (const waiter of waiting.flat()) waiter.reject(error)
      // One expression that fails must not blind the node to the others.
      if (topics.length > 1 && !(error instanceof ConnectionLost) && codeOf(error)?.startsWith('42') === true)
        await this.#lookOneByOne(topics, begunAt)
      else if (!this.#hasFailed) {
        this.#hasFailed = true
        this.#options.log.warn(
          { reason: messageOf(error) },
          'failed to look for changes of the database; retrying',
        )
      }
    }
  }

  async #lookOneByOne(topics: readonly WatchedTopic[], begunAt: number): Promise<void> {
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
   * By one statement. It is not prepared: PostgreSQL keeps the plan that was best for a queue as small as it was, and would
   * read all of one that has grown since, until ANALYZE.
   */
  async #read(topics: readonly WatchedTopic[]): Promise<(string | null)[]> {
    if (topics.length === 0) return []
    const names = topics.map((_, index) => `v${index}`)
    const versions = topics.map(({ version }, index) => sql`(${version})::text as ${sql.id(`v${index}`)}`)
    const time = sql`(extract(epoch from clock_timestamp()) * 1000)::text as time`
    const database = this.#listener ?? this.#options.database
    const askedAt = this.#timer.now()
    const row = await database.one<Record<string, string | null>>(
      sql`select ${sql.join([...versions, time])}`,
    )
    this.#options.clock?.adjust(Number(row.time), this.#timer.now() - askedAt)
    return names.map((name) => row[name] ?? null)
  }
}
