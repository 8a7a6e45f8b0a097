import { AsyncLocalStorage } from 'node:async_hooks'
import pg from 'pg'
import type { Logger } from 'pino'
import { codeOf, messageOf } from '../lib/errors.ts'
import { systemTimer, type Timer } from '../lib/timer.ts'
import type { Connection } from './connection.ts'
import { ConnectionLost } from './failures.ts'
import { answerOf, NotificationListener, notificationChannel } from './notification-listener.ts'
import { type Sql, sql } from './sql.ts'
import { type Queryable, queryableOn } from './system-database.ts'

/** Something of the database that nodes keep in memory or wait for, by its version. */
export interface Watch {
  /** What has changed, by the name that is announced and logged: `auth_settings`. Several watches may share one. */
  readonly topic: string
  /**
   * A scalar expression, cast to text, that differs after every change; null is a value. It is evaluated several times a
   * second: one row, or a look into an index. A function when it depends on what has been read.
   */
  readonly version: Sql | (() => Sql)
  /** How often to look while nothing is announced, where that differs from the other topics. */
  readonly everyMs?: () => number | undefined
  /**
   * Reads what changed: once at the start and after each change of the version, one call at a time. What fails is logged
   * and repeated.
   */
  readonly onChange: (version: string | null) => Promise<void> | void
}

export interface WatchHandle {
  /** What was committed before this moment of {@link Timer.now} is in force here. */
  readonly currentAt: number
  /** Looks at once. Resolves when what was committed before the call is in force. */
  look(): Promise<void>
}

/** How often all versions are looked at while notifications arrive: what plain SQL changes notifies no node. */
export const listeningMs = 450
/** The same without notifications. */
export const pollingMs = 125
/** Between two looks at an announced topic: what comes meanwhile shares the next. */
const lookAgainMs = 10
/** The same between two notifications, which every node reads. */
const notifyAgainMs = 20

export interface NotificationsOptions {
  readonly database: Pick<Queryable, 'one'>
  /** Opens a connection that no pooler shares; undefined where there is none. */
  readonly openListener: (() => Promise<Connection>) | undefined
  readonly log: Logger
  readonly timer?: Timer
}

interface Topic {
  readonly watch: Watch
  /** The version in force; undefined before the first, and after a failure. */
  known: { readonly version: string | null } | undefined
  lookedAt: number
  currentAt: number
  isAnnounced: boolean
  /** The call of `onChange` in flight. */
  running: Promise<void> | undefined
  hasFailed: boolean
  waiting: PromiseWithResolvers<void>[]
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
  readonly #topics: Topic[] = []
  readonly #listener: NotificationListener | undefined
  readonly #unsent = new Set<string>()
  #notifiedAt = Number.NEGATIVE_INFINITY
  #notifying: Promise<void> | undefined
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
    const topic: Topic = {
      watch,
      known: undefined,
      lookedAt: Number.NEGATIVE_INFINITY,
      currentAt: Number.NEGATIVE_INFINITY,
      isAnnounced: false,
      running: undefined,
      hasFailed: false,
      waiting: [],
    }
    this.#topics.push(topic)
    return {
      get currentAt() {
        return topic.currentAt
      },
      look: () => {
        if (this.#state === 'stopped') return Promise.reject(new Error('the notifications have been stopped'))
        const waiter = Promise.withResolvers<void>()
        topic.waiting.push(waiter)
        topic.isAnnounced = true
        this.#schedule()
        return waiter.promise
      },
    }
  }

  /** After the commit of a change: this node looks at once, the others are notified. Never waits and never fails. */
  announce(topic: string): void {
    if (this.#state === 'stopped') return
    this.#mark(topic)
    // Without a way to listen the others, configured alike, would not hear of it.
    if (this.#listener === undefined) return
    this.#unsent.add(topic)
    this.#notify()
  }

  /** @throws what the first look or an `onChange` has thrown */
  async start(): Promise<void> {
    await this.#listener?.start()
    // All are read now: the connection that has just been made missed nothing.
    for (const topic of this.#topics) topic.isAnnounced = topic.waiting.length > 0
    const begunAt = this.#timer.now()
    const versions = await this.#read(this.#topics)
    await Promise.all(
      this.#topics.map(async (topic, index) => {
        topic.lookedAt = begunAt
        const version = versions[index] ?? null
        await topic.watch.onChange(version)
        topic.known = { version }
        topic.currentAt = begunAt
      }),
    )
    this.#state = 'running'
    this.#schedule()
  }

  /** Ends with what is in flight. */
  async stop(): Promise<void> {
    this.#state = 'stopped'
    this.#cancelLook?.()
    await this.#looking
    await this.#notifying
    await Promise.all(this.#topics.map(({ running }) => running))
    for (const topic of this.#topics) reject(topic, new Error('the notifications have been stopped'))
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

  #intervalOf({ watch }: Topic): number {
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
    const waiting = new Map<Topic, PromiseWithResolvers<void>[]>()
    for (const topic of topics) {
      topic.lookedAt = begunAt
      topic.isAnnounced = false
      waiting.set(topic, topic.waiting)
      topic.waiting = []
    }
    try {
      const versions = await this.#read(topics)
      if (this.#hasFailed) this.#options.log.info('noticing changes of the database again')
      this.#hasFailed = false
      for (const [index, topic] of topics.entries())
        this.#compare(topic, versions[index] ?? null, begunAt, waiting.get(topic) ?? [])
    } catch (error) {
      this.#interruptions += 1
      for (const each of waiting.values()) for (const waiter of each) waiter.reject(error)
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

  async #lookOneByOne(topics: readonly Topic[], begunAt: number): Promise<void> {
    for (const topic of topics) {
      try {
        const [version] = await this.#read([topic])
        this.#compare(topic, version ?? null, begunAt, [])
      } catch (error) {
        this.#warn(topic, error)
      }
    }
  }

  #compare(
    topic: Topic,
    version: string | null,
    begunAt: number,
    waiting: readonly PromiseWithResolvers<void>[],
  ): void {
    if (topic.known !== undefined && topic.known.version === version) {
      topic.currentAt = begunAt
      for (const waiter of waiting) waiter.resolve()
      return
    }
    topic.running = this.#change(topic, version, begunAt)
      .then(
        () => {
          for (const waiter of waiting) waiter.resolve()
        },
        (error) => {
          topic.known = undefined
          this.#warn(topic, error)
          for (const waiter of waiting) waiter.reject(error)
        },
      )
      .finally(() => {
        topic.running = undefined
        this.#schedule()
      })
  }

  async #change(topic: Topic, version: string | null, begunAt: number): Promise<void> {
    await topic.watch.onChange(version)
    topic.known = { version }
    topic.currentAt = begunAt
    topic.hasFailed = false
  }

  /** Once until it succeeds. */
  #warn(topic: Topic, error: unknown): void {
    if (!topic.hasFailed) {
      const detail = { topic: topic.watch.topic, reason: messageOf(error) }
      this.#options.log.warn(detail, 'failed to read what has changed; retrying')
    }
    topic.hasFailed = true
  }

  /** On the connection that listens, where it costs the pool nothing; if that fails, by the pool. */
  async #read(topics: readonly Topic[]): Promise<(string | null)[]> {
    const names = topics.map((_, index) => `v${index}`)
    const versions = topics.map(({ watch: { version } }, index) => {
      const expression = typeof version === 'function' ? version() : version
      return sql`(${expression})::text as ${sql.id(`v${index}`)}`
    })
    if (versions.length === 0) return []
    const statement = sql`select ${sql.join(versions)}`
    const row = await this.#run<Record<string, string | null>>(statement)
    return names.map((name) => row[name] ?? null)
  }

  async #run<Row extends Record<string, string | null>>(statement: Sql): Promise<Row> {
    const { database } = this.#options
    const connection = this.#listener?.connection
    if (connection === undefined) return await database.one<Row>(statement)
    try {
      return await answerOf(queryableOn(connection).one<Row>(statement), 'no answer', this.#timer)
    } catch (error) {
      // The statement's own fault; anything else is that of the connection, or of a backend that ends.
      if (error instanceof pg.DatabaseError && error.code?.startsWith('57P') !== true) throw error
      this.#interruptions += 1
      connection.destroy()
      return await database.one<Row>(statement)
    }
  }

  #notify(): void {
    if (this.#notifying !== undefined) return
    this.#notifying = this.#outside(() => this.#send()).finally(() => {
      this.#notifying = undefined
      if (this.#unsent.size > 0 && this.#state !== 'stopped') this.#notify()
    })
  }

  async #send(): Promise<void> {
    const delayMs = this.#notifiedAt + notifyAgainMs - this.#timer.now()
    if (delayMs > 0) await new Promise<void>((resolve) => void this.#timer.after(delayMs, resolve))
    const topics = [...this.#unsent]
    this.#unsent.clear()
    this.#notifiedAt = this.#timer.now()
    // What is lost is found by the next look of the others.
    await this.#run(sql`
      select count(pg_notify(${notificationChannel}, topic))::text as sent from unnest(${topics}::text[]) topic
    `).catch(() => undefined)
  }
}

function reject(topic: Topic, error: Error): void {
  for (const waiter of topic.waiting) waiter.reject(error)
  topic.waiting = []
}
