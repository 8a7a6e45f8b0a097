import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { messageOf } from '../../lib/errors.ts'
import type { Sql } from '../sql.ts'
import { digestOf, keyOf } from './peers.ts'

/** Part of the database that nodes cache or wait for, by its version. */
export interface Watch {
  /** Name of the topic in announcements and logs, such as `auth_settings`. Several watches may share one. */
  readonly topic: string
  /**
   * Scalar expression, cast to text, that differs after every change; null is a value. It is evaluated several
   * times a second, so it reads one row, or an index. It is a function when it depends on earlier reads.
   */
  readonly version: Sql | (() => Sql)
  /** Returns the poll interval without announcements, where it differs from that of other topics. */
  readonly everyMs?: () => number | undefined
  /**
   * Returns the part of a version that only a change of the database alters. A version that is a function needs it, so
   * that one worker of a machine can poll it for all. Without it, each worker polls.
   */
  readonly changesOf?: (version: string | null) => string
  /** True while the work on a change is done once per machine, so that only the leader polls. */
  readonly isForLeader?: () => boolean
  /**
   * Reads the changes: once at startup and after each change of the version, one call at a time. A failure is
   * logged, and the call is repeated.
   */
  readonly onChange: (version: string | null) => Promise<void> | void
  /**
   * Forgets what the watch has read, before it is polled again. Another timeline of the database may have other data under
   * the same versions and transaction numbers.
   */
  readonly onTimeline?: () => void
}

type Waiter = PromiseWithResolvers<void>

/** Poll of one topic in flight. */
export interface TopicPoll {
  readonly begunAt: number
  readonly waiters: readonly Waiter[]
  /** Last mark of the leader before the poll. */
  readonly mark: string | undefined
}

/** State of one watch: the version in force, and waiters for the next one. */
export class WatchedTopic {
  readonly watch: Watch
  readonly #log: Logger
  /** Name of this process in its marks. */
  readonly #self = randomUUID()
  #key: string | undefined
  /** Version in force; undefined before the first, and after a failure. */
  #known: { readonly version: string | null } | undefined
  #waiting: Waiter[] = []
  /** Call of `onChange` in flight. */
  #running: Promise<void> | undefined
  #hasFailed = false
  /** Number of timelines. */
  #timelines = 0
  /** Number of changes that this worker has read, and the last of them. */
  #changes = 0
  #lastChange: string | undefined
  /** Last mark of the leader, and the one that had arrived before the version in force was read. */
  #mark: string | undefined
  #markInForce: string | undefined
  /** Start of the last poll, in milliseconds of the timer, like all times here. */
  polledAt = Number.NEGATIVE_INFINITY
  /** Start of the leader's last poll that confirmed the version in force. */
  confirmedAt = Number.NEGATIVE_INFINITY
  /** Time whose earlier commits are in force. */
  currentAt = Number.NEGATIVE_INFINITY
  isAnnounced = false

  constructor(watch: Watch, log: Logger) {
    this.watch = watch
    this.#log = log
  }

  /** Key by which workers of a machine recognize the topic. */
  get key(): string {
    this.#key ??= keyOf(this.watch.topic, this.watch.version)
    return this.#key
  }

  /** True if the leader can poll this topic for the other workers. */
  get isShared(): boolean {
    const { version, changesOf } = this.watch
    return typeof version !== 'function' || changesOf !== undefined
  }

  /** True while only the leader polls this topic. */
  get isForLeader(): boolean {
    return this.watch.isForLeader?.() === true
  }

  get version(): Sql {
    const { version } = this.watch
    return typeof version === 'function' ? version() : version
  }

  /** Call of `onChange` in flight; it does not fail. */
  get running(): Promise<void> | undefined {
    return this.#running
  }

  get isAwaited(): boolean {
    return this.#waiting.length > 0
  }

  /** Resolves when all commits before the call are in force. */
  wait(): Promise<void> {
    const waiter = Promise.withResolvers<void>()
    this.#waiting.push(waiter)
    this.isAnnounced = true
    return waiter.promise
  }

  /** Starts a poll. */
  beginPoll(begunAt: number): TopicPoll {
    this.polledAt = begunAt
    this.isAnnounced = false
    const waiters = this.#waiting
    this.#waiting = []
    return { begunAt, waiters, mark: this.#mark }
  }

  /** Reads the version at startup. @throws errors of `onChange` */
  async begin(version: string | null, begunAt: number): Promise<void> {
    this.polledAt = begunAt
    this.#count(version)
    await this.#change(version, { begunAt, waiters: [], mark: undefined })
  }

  /** Discards the version in force, because the database is on another timeline. It is read again. */
  forget(): void {
    this.#timelines += 1
    this.#known = undefined
    this.#markInForce = undefined
    this.#mark = undefined
    this.#changes += 1
    this.isAnnounced = true
    this.watch.onTimeline?.()
  }

  /** Returns the waiters of a poll without a result to the next one. */
  repeat({ waiters }: TopicPoll): void {
    this.#waiting.push(...waiters)
    this.isAnnounced = true
  }

  /** Compares the version of a poll and reads the changes; calls `onEnd` after that. */
  compare(version: string | null, poll: TopicPoll, onEnd: () => void): void {
    const { waiters } = poll
    this.#count(version)
    if (this.#known !== undefined && this.#known.version === version) {
      this.currentAt = poll.begunAt
      this.#markInForce = poll.mark
      for (const waiter of waiters) waiter.resolve()
      return
    }
    this.#running = this.#change(version, poll)
      .then(
        () => {
          for (const waiter of waiters) waiter.resolve()
        },
        (error) => {
          this.#known = undefined
          this.#markInForce = undefined
          this.warn(error)
          for (const waiter of waiters) waiter.reject(error)
        },
      )
      .finally(() => {
        this.#running = undefined
        onEnd()
      })
  }

  /** Returns the mark of the version just read, for the other workers. It differs after every change. */
  markOf(version: string | null): string {
    return this.watch.changesOf === undefined ? digestOf(version) : `${this.#self} ${this.#changes}`
  }

  /**
   * Compares the mark of a poll by the leader. An equal mark confirms the version in force. Any other announces a change,
   * which this worker then reads for itself, as the leader's poll may be the older one.
   */
  confirm(mark: string, begunAt: number): void {
    this.#mark = mark
    if (this.#running === undefined && this.#markOfVersion() === mark) {
      this.confirmedAt = begunAt
      this.currentAt = Math.max(this.currentAt, begunAt)
    } else this.isAnnounced = true
  }

  #count(version: string | null): void {
    const change = this.watch.changesOf?.(version)
    if (change !== this.#lastChange) this.#changes += 1
    this.#lastChange = change
  }

  /** Returns the mark of the leader that confirms the version in force, if it is known. */
  #markOfVersion(): string | undefined {
    if (this.watch.changesOf !== undefined) return this.#markInForce
    return this.#known && digestOf(this.#known.version)
  }

  /** Writes a failure to the log, once until a success. */
  warn(error: unknown): void {
    if (!this.#hasFailed) {
      const detail = { topic: this.watch.topic, reason: messageOf(error) }
      this.#log.warn(detail, 'failed to read what has changed; retrying')
    }
    this.#hasFailed = true
  }

  /** Rejects all waiters. */
  reject(error: Error): void {
    for (const waiter of this.#waiting) waiter.reject(error)
    this.#waiting = []
  }

  async #change(version: string | null, { begunAt, mark }: TopicPoll): Promise<void> {
    const timelines = this.#timelines
    await this.watch.onChange(version)
    // The version was read on an earlier timeline.
    if (timelines !== this.#timelines) {
      this.watch.onTimeline?.()
      return
    }
    this.#known = { version }
    this.#markInForce = mark
    this.currentAt = begunAt
    this.#hasFailed = false
  }
}
