import type { Logger } from 'pino'
import { messageOf } from '../../lib/errors.ts'
import type { Sql } from '../sql.ts'

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

type Waiter = PromiseWithResolvers<void>

/** What is known of one watch: the version in force, and those who wait for the next one. */
export class WatchedTopic {
  readonly watch: Watch
  readonly #log: Logger
  /** The version in force; undefined before the first, and after a failure. */
  #known: { readonly version: string | null } | undefined
  #waiting: Waiter[] = []
  /** The call of `onChange` in flight. */
  #running: Promise<void> | undefined
  #hasFailed = false
  /** When the last look has begun, in milliseconds of the timer, as all moments here. */
  lookedAt = Number.NEGATIVE_INFINITY
  /** What was committed before it is in force. */
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

  /** The call of `onChange` in flight; it does not fail. */
  get running(): Promise<void> | undefined {
    return this.#running
  }

  get isAwaited(): boolean {
    return this.#waiting.length > 0
  }

  /** Resolves when what was committed before the call is in force. */
  wait(): Promise<void> {
    const waiter = Promise.withResolvers<void>()
    this.#waiting.push(waiter)
    this.isAnnounced = true
    return waiter.promise
  }

  /** @returns those for whom this look is the answer */
  beginLook(begunAt: number): readonly Waiter[] {
    this.lookedAt = begunAt
    this.isAnnounced = false
    const waiters = this.#waiting
    this.#waiting = []
    return waiters
  }

  /** The version as of the start. @throws what `onChange` throws */
  async begin(version: string | null, begunAt: number): Promise<void> {
    this.lookedAt = begunAt
    await this.#change(version, begunAt)
  }

  /** Compares the version that a look has found and reads what has changed; calls `onEnd` after that. */
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

  /** Logs a failure, once until it succeeds. */
  warn(error: unknown): void {
    if (!this.#hasFailed) {
      const detail = { topic: this.watch.topic, reason: messageOf(error) }
      this.#log.warn(detail, 'failed to read what has changed; retrying')
    }
    this.#hasFailed = true
  }

  /** All who wait fail. */
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
