import type { Logger } from 'pino'
import { messageOf } from '../../lib/errors.ts'
import type { Sql } from '../sql.ts'

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
   * Reads the changes: once at startup and after each change of the version, one call at a time. A failure is
   * logged, and the call is repeated.
   */
  readonly onChange: (version: string | null) => Promise<void> | void
}

type Waiter = PromiseWithResolvers<void>

/** State of one watch: the version in force, and waiters for the next one. */
export class WatchedTopic {
  readonly watch: Watch
  readonly #log: Logger
  /** Version in force; undefined before the first, and after a failure. */
  #known: { readonly version: string | null } | undefined
  #waiting: Waiter[] = []
  /** Call of `onChange` in flight. */
  #running: Promise<void> | undefined
  #hasFailed = false
  /** Start of the last poll, in milliseconds of the timer, like all times here. */
  polledAt = Number.NEGATIVE_INFINITY
  /** Time whose earlier commits are in force. */
  currentAt = Number.NEGATIVE_INFINITY
  isAnnounced = false

  constructor(watch: Watch, log: Logger) {
    this.watch = watch
    this.#log = log
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

  /** Starts a poll. @returns the waiters for its result */
  beginPoll(begunAt: number): readonly Waiter[] {
    this.polledAt = begunAt
    this.isAnnounced = false
    const waiters = this.#waiting
    this.#waiting = []
    return waiters
  }

  /** Reads the version at startup. @throws errors of `onChange` */
  async begin(version: string | null, begunAt: number): Promise<void> {
    this.polledAt = begunAt
    await this.#change(version, begunAt)
  }

  /** Compares the version of a poll and reads the changes; calls `onEnd` after that. */
  compare(version: string | null, begunAt: number, waiters: readonly Waiter[], onEnd: () => void): void {
    if (this.#known !== undefined && this.#known.version === version) {
      this.currentAt = begunAt
      for (const waiter of waiters) waiter.resolve()
      return
    }
    this.#running = this.#change(version, begunAt)
      .then(
        () => {
          for (const waiter of waiters) waiter.resolve()
        },
        (error) => {
          this.#known = undefined
          this.warn(error)
          for (const waiter of waiters) waiter.reject(error)
        },
      )
      .finally(() => {
        this.#running = undefined
        onEnd()
      })
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

  async #change(version: string | null, begunAt: number): Promise<void> {
    await this.watch.onChange(version)
    this.#known = { version }
    this.currentAt = begunAt
    this.#hasFailed = false
  }
}
