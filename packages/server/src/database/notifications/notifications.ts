import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from 'pino'
import { codeOf, messageOf } from '../../lib/errors.ts'
import { systemTimer, type Timer, whenLate } from '../../lib/timer.ts'
import type { Connection } from '../connection/connection.ts'
import { type ClockMeasurement, type DatabaseClock, measureClock } from '../database-clock.ts'
import { ConnectionLost } from '../errors/failures.ts'
import { sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'
import { Coverage, graceMs } from './coverage.ts'
import { listeningMs, pollAgainMs, pollingMs } from './intervals.ts'
import { NotificationListener } from './listener.ts'
import type { PeerChannel, PeerMessage } from './peers.ts'
import { notify, TopicSender } from './sender.ts'
import { type TopicPoll, type Watch, WatchedTopic } from './topic.ts'

export type { Watch }

export interface WatchHandle {
  /** Moment of {@link Timer.now} whose earlier commits are in force here. */
  readonly currentAt: number
  /** Polls at once. Resolves when all commits before the call are in force. */
  poll(): Promise<void>
}

export interface NotificationsOptions {
  readonly database: Pick<Queryable, 'one'>
  /** Opens a connection that no pooler shares; undefined if there is none. */
  readonly openListener: (() => Promise<Connection>) | undefined
  /** Clock that each poll adjusts. */
  readonly clock?: DatabaseClock | undefined
  /** Channel to the other workers of this machine; undefined for a single process. */
  readonly peers?: PeerChannel | undefined
  readonly log: Logger
  readonly timer?: Timer
}

/**
 * Loop of a node that notices changes of the database. It is the only one. A single statement reads the
 * versions of all watched topics, and the node then reads the data of those that differ. A node that has made a
 * change announces it after its commit, by NOTIFY in a transaction of its own, because transactions with NOTIFY
 * commit one at a time. Notifications only shorten the wait: after a lost connection the next poll finds the
 * changes.
 *
 * The leader of several workers on a machine polls for all of them and listens. Its polls confirm the versions that the other
 * workers have in force, or announce a change. Without recent polls of the leader, a worker polls like a node.
 */
export class Notifications {
  readonly #options: NotificationsOptions
  readonly #timer: Timer
  /** Snapshot outside of requests and jobs. A poll does not belong to the one that announced a change. */
  readonly #outside = AsyncLocalStorage.snapshot()
  readonly #topics: WatchedTopic[] = []
  readonly #coverage = new Coverage()
  /** Sender to other nodes. Without a listener, they would not receive its notifications. */
  readonly #nodes: TopicSender | undefined
  /** Sender to the other workers of this machine. */
  readonly #workers: TopicSender | undefined
  #listener: NotificationListener | undefined
  #isLeader: boolean
  #closing: Promise<unknown> = Promise.resolve()
  #polling: Promise<void> | undefined
  #cancelPoll: (() => void) | undefined
  #state: 'new' | 'running' | 'stopped' = 'new'
  #hasFailed = false
  #interruptions = 0
  /** Timeline of the database that the versions in force belong to. */
  #timeline: number | undefined

  constructor(options: NotificationsOptions) {
    const { database, openListener, peers, timer = systemTimer } = options
    this.#options = options
    this.#timer = timer
    this.#isLeader = peers === undefined
    if (openListener !== undefined)
      this.#nodes = new TopicSender((topics) => notify(this.#listener ?? database, topics), timer)
    if (peers === undefined) return
    this.#workers = new TopicSender((topics) => peers.send({ kind: 'announced', topics }), timer)
    peers.connect({
      setLeader: (isLeader) => this.#setLeader(isLeader),
      receive: (message) => this.#receive(message),
    })
  }

  /** True if notifications arrive; otherwise the loop polls. */
  get isListening(): boolean {
    return this.#listener?.connection !== undefined
  }

  /** True if this process does the work that is done once per machine. Briefly several workers may do it. */
  get isLeading(): boolean {
    return this.#isLeader || !this.#coverage.has(this.#timer.now())
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
    this.#outside(() => {
      this.#workers?.send(topic)
      // The leader notifies the other nodes for its followers.
      if (this.isLeading) this.#nodes?.send(topic)
    })
  }

  /** Starts the loop. @throws errors of the first poll or of an `onChange` */
  async start(): Promise<void> {
    if (this.#isLeader) await this.#listen()
    // All topics are read now; the new connection has missed nothing.
    for (const topic of this.#topics) topic.isAnnounced = topic.isAwaited
    const begunAt = this.#timer.now()
    const { versions, timeline } = await this.#read(this.#topics)
    this.#timeline = timeline
    await Promise.all(this.#topics.map((topic, index) => topic.begin(versions[index] ?? null, begunAt)))
    this.#state = 'running'
    // This worker has become the leader during the reads.
    if (this.#isLeader && this.#listener === undefined) void this.#listen()
    this.#schedule()
  }

  /** Stops the loop after the work in flight. */
  async stop(): Promise<void> {
    this.#state = 'stopped'
    this.#cancelPoll?.()
    await this.#polling
    await Promise.all([this.#nodes?.stop(), this.#workers?.stop()])
    await Promise.all(this.#topics.map(({ running }) => running))
    for (const topic of this.#topics) topic.reject(new Error('the notifications have been stopped'))
    await this.#listener?.stop()
    await this.#closing
  }

  /** Opens the listening connection. Resolves when the first attempt has ended. */
  async #listen(): Promise<void> {
    const { database, openListener, log } = this.#options
    if (openListener === undefined) return
    this.#listener = new NotificationListener({
      open: openListener,
      database,
      onNotification: (topic) => {
        this.#mark(topic)
        this.#workers?.send(topic)
      },
      // Topics that were announced before this connection have to be polled.
      onConnect: () => this.#markAll(),
      onLoss: () => {
        this.#interruptions += 1
        this.#schedule()
      },
      log,
      timer: this.#timer,
    })
    await this.#listener.start()
  }

  /** Handles another leader. Everything counts as announced, as after a lost connection. */
  #setLeader(isLeader: boolean): void {
    if (this.#state === 'stopped') return
    this.#isLeader = isLeader
    this.#coverage.reset()
    if (!isLeader && this.#listener !== undefined) {
      this.#closing = Promise.all([this.#closing, this.#listener.stop()])
      this.#listener = undefined
    }
    if (this.#state === 'new') return
    if (isLeader && this.#listener === undefined) void this.#outside(() => this.#listen())
    this.#interruptions += 1
    this.#markAll()
  }

  #receive(message: PeerMessage): void {
    if (this.#state === 'stopped') return
    if (message.kind === 'polled') {
      this.#confirm(message)
      return
    }
    for (const topic of message.topics) {
      this.#mark(topic)
      if (this.#isLeader) this.#nodes?.send(topic)
    }
  }

  /** Applies a poll of the leader. */
  #confirm({
    begunAt,
    marks,
    clock,
    interruptions,
    timeline,
  }: Extract<PeerMessage, { kind: 'polled' }>): void {
    const { peers } = this.#options
    if (peers === undefined || this.#isLeader || this.#state === 'new') return
    const at = begunAt - peers.now() + this.#timer.now()
    if (this.#coverage.note(at, interruptions)) this.#interruptions += 1
    this.#options.clock?.adjust(clock)
    this.#follow(timeline)
    for (const topic of this.#topics) {
      const mark = topic.isShared && !topic.isForLeader ? marks.get(topic.key) : undefined
      if (mark !== undefined) topic.confirm(mark, at)
    }
    this.#schedule()
  }

  #mark(topic: string): void {
    for (const each of this.#topics) {
      if (each.watch.topic === topic && (this.isLeading || !each.isForLeader)) each.isAnnounced = true
    }
    this.#schedule()
  }

  #markAll(): void {
    for (const topic of this.#topics) topic.isAnnounced = true
    this.#schedule()
  }

  /** Returns the time of the next poll without an announcement. */
  #dueAt(topic: WatchedTopic, part = 1): number {
    const everyMs = topic.watch.everyMs?.()
    if (this.isLeading)
      return topic.polledAt + part * (everyMs ?? (this.isListening ? listeningMs : pollingMs))
    if (topic.isForLeader) return Number.POSITIVE_INFINITY
    if (!topic.isShared) return topic.polledAt + part * (everyMs ?? listeningMs)
    // The leader may read a slower topic one poll later.
    const lateMs = everyMs === undefined ? listeningMs + graceMs : everyMs + listeningMs
    return Math.max(topic.polledAt, topic.confirmedAt) + lateMs
  }

  /** Schedules the next poll. A topic that is being read waits until that has ended. */
  #schedule(): void {
    if (this.#state !== 'running' || this.#polling !== undefined) return
    this.#cancelPoll?.()
    // A covered worker polls when the polls of the leader cease.
    let dueAt = this.isLeading ? Number.POSITIVE_INFINITY : this.#coverage.endsAt + 1
    for (const topic of this.#topics) {
      if (topic.running !== undefined) continue
      dueAt = Math.min(dueAt, topic.isAnnounced ? topic.polledAt + pollAgainMs : this.#dueAt(topic))
    }
    if (dueAt === Number.POSITIVE_INFINITY) return
    const poll = () => {
      if (this.#coverage.hasLapsed(this.#timer.now())) {
        this.#interruptions += 1
        for (const topic of this.#topics) topic.isAnnounced = true
      }
      this.#polling = this.#outside(() => this.#poll()).finally(() => {
        this.#polling = undefined
        this.#schedule()
      })
    }
    const delayMs = Math.max(0, dueAt - this.#timer.now())
    // The leader's messages may have arrived while this process was blocked.
    this.#cancelPoll = this.isLeading
      ? this.#timer.after(delayMs, poll)
      : whenLate(delayMs, poll, this.#timer)
  }

  async #poll(): Promise<void> {
    const begunAt = this.#timer.now()
    // Topics that have reached half of their interval are polled, too: one transaction instead of two.
    const topics = this.#topics.filter(
      (topic) => topic.running === undefined && (topic.isAnnounced || begunAt >= this.#dueAt(topic, 0.5)),
    )
    const polls = topics.map((topic) => topic.beginPoll(begunAt))
    try {
      const { versions, clock, timeline } = await this.#read(topics)
      if (this.#hasFailed) this.#options.log.info('polling the database for changes again')
      this.#hasFailed = false
      if (this.#follow(timeline)) {
        // The versions were compiled from what was known of the earlier timeline.
        for (const [index, topic] of topics.entries()) topic.repeat(polls[index] as TopicPoll)
        return
      }
      for (const [index, topic] of topics.entries())
        topic.compare(versions[index] ?? null, polls[index] as TopicPoll, () => this.#schedule())
      this.#publish(topics, versions, begunAt, clock)
    } catch (error) {
      this.#interruptions += 1
      for (const { waiters } of polls) for (const waiter of waiters) waiter.reject(error)
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

  /** Passes the result of a poll to the followers. */
  #publish(
    topics: readonly WatchedTopic[],
    versions: readonly (string | null)[],
    begunAt: number,
    clock: ClockMeasurement | undefined,
  ): void {
    const { peers } = this.#options
    if (!this.#isLeader || peers === undefined || clock === undefined) return
    const marks = new Map<string, string>()
    for (const [index, topic] of topics.entries()) {
      if (topic.isShared && !topic.isForLeader) marks.set(topic.key, topic.markOf(versions[index] ?? null))
    }
    peers.send({
      kind: 'polled',
      begunAt: begunAt - this.#timer.now() + peers.now(),
      marks,
      clock,
      interruptions: this.#interruptions,
      timeline: this.#timeline,
    })
  }

  /** Discards all versions if the database is on another timeline. @returns true if it is */
  #follow(timeline: number | undefined): boolean {
    const before = this.#timeline
    this.#timeline = timeline ?? before
    if (timeline === undefined || before === undefined || timeline === before) return false
    this.#interruptions += 1
    for (const topic of this.#topics) topic.forget()
    return true
  }

  async #pollOneByOne(topics: readonly WatchedTopic[], begunAt: number): Promise<void> {
    for (const topic of topics) {
      const poll = topic.beginPoll(begunAt)
      try {
        const { versions, clock, timeline } = await this.#read([topic])
        if (this.#follow(timeline)) {
          topic.repeat(poll)
          return
        }
        topic.compare(versions[0] ?? null, poll, () => this.#schedule())
        this.#publish([topic], versions, begunAt, clock)
      } catch (error) {
        for (const waiter of poll.waiters) waiter.reject(error)
        topic.warn(error)
      }
    }
  }

  /**
   * Reads the versions by one statement. It is not prepared: PostgreSQL would keep the best plan for a small
   * queue, and would read all of a grown one until ANALYZE.
   */
  async #read(topics: readonly WatchedTopic[]): Promise<Versions> {
    if (topics.length === 0) return { versions: [], clock: undefined, timeline: undefined }
    const names = topics.map((_, index) => `v${index}`)
    const versions = topics.map(({ version }, index) => sql`(${version})::text as ${sql.id(`v${index}`)}`)
    const time = sql`(extract(epoch from clock_timestamp()) * 1000)::text as time`
    const database = this.#listener ?? this.#options.database
    const queriedAt = this.#timer.now()
    const row = await database.one<Record<string, string | null>>(
      sql`select ${sql.join([...versions, time, sql`basalt.timeline()::text as timeline`])}`,
    )
    const clock = measureClock(Number(row.time), this.#timer.now() - queriedAt)
    this.#options.clock?.adjust(clock)
    const timeline = row.timeline ?? undefined
    return {
      versions: names.map((name) => row[name] ?? null),
      clock,
      timeline: timeline === undefined ? undefined : Number(timeline),
    }
  }
}

interface Versions {
  readonly versions: readonly (string | null)[]
  /** Undefined if nothing was read. */
  readonly clock: ClockMeasurement | undefined
  /** Timeline of the database; undefined if nothing was read or it is unknown. */
  readonly timeline: number | undefined
}
