import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Notifications, WatchHandle } from '../../../../database/notifications/notifications.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { TaskQueue } from '../../../../lib/task-queue.ts'
import { hasRowsBeyond } from '../../outbox/index.ts'
import { type Batch, positionAfterBatch } from './batch.ts'
import { endOf, type Position } from './position.ts'

/** Log that a follower reads on, and what is done with its events. It knows nothing of its follower. */
export interface FollowedLog<Event extends { readonly id: string }> {
  /** Topic that is announced after each commit that has appended to the log. */
  readonly topic: string
  /** The log, with the columns `id` and `transaction_id`. */
  readonly table: Sql
  /** Name in messages to the operator: `the log of changes`. */
  readonly name: string
  /** True while the position must keep up with the log although nothing is appended, as the state that it sees is held. */
  readonly isHeld: boolean
  /** Returns where to begin. */
  begin(): Promise<Position>
  /** Reads on; undefined while there are no listeners. */
  read(from: Position): Promise<Batch<Event> | undefined>
  /** Hands a batch to the streams. Resolves when the next one may follow. */
  deliver(batch: Batch<Event>): Promise<void>
  /** Notes that the log is not the one that was read before, so that events before the position are unknown. */
  onBreak(position: Position): void
}

export interface FollowerDeps {
  readonly notifications: Pick<Notifications, 'watch'>
  readonly log: Logger
}

/** Interval at which changes are read that nothing announces, such as those by plain SQL, while there are listeners. */
const listenedMs = 40
/** Between two steps while events come. */
const busyMs = 10
const retryMs = 250
/** The position, which clients resume from, is no older while nothing is appended. */
const positionMs = 1000
/** The version while there is nothing to read. */
const idle = 'idle'

/**
 * Reads a log for the streams of this node, each node for itself: the position it has reached is a snapshot in memory, as
 * a stream that is disconnected resumes from the position it was sent.
 */
export class Follower<Event extends { readonly id: string }> {
  readonly #deps: FollowerDeps
  readonly #followed: FollowedLog<Event>
  readonly #handle: WatchHandle
  /** Steps, and what must not happen in the middle of one. */
  readonly #queue = new TaskQueue()
  #position: Position | undefined
  #isStopped = false
  /** Times of the snapshot that is being read up to, and of the one that has been. */
  #targetAt = Number.NEGATIVE_INFINITY
  #passedAt = Number.NEGATIVE_INFINITY

  constructor(deps: FollowerDeps, followed: FollowedLog<Event>) {
    this.#deps = deps
    this.#followed = followed
    this.#handle = deps.notifications.watch({
      topic: followed.topic,
      version: () => this.#version(),
      everyMs: () => (this.#position === undefined ? undefined : listenedMs),
      // While events come the log is read anyway: it is not looked at before this has ended.
      onChange: (version) => (version === null || version === idle ? undefined : this.#drain()),
    })
  }

  /** Position up to which every stream has been sent everything, or will be before anything later. */
  get position(): Position | undefined {
    return this.#position
  }

  /**
   * Runs the work between two steps.
   *
   * @param work receives the position that the log has been read to
   * @param isFresh whether that is to be a snapshot from after this call
   */
  between<Result>(work: (position: Position) => Promise<Result> | Result, isFresh = false): Promise<Result> {
    const calledAt = performance.now()
    return this.#queue.add(async () => {
      // Calls that come together share a step.
      while (isFresh && this.#position !== undefined && !this.#isFresh(calledAt)) await this.#step()
      const isIdle = this.#position === undefined
      this.#position ??= await this.#begin()
      if (isIdle) this.#handle.poll().catch(() => undefined)
      return await work(this.#position)
    })
  }

  /** Ends with the step in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#queue.idle()
  }

  /** Differs at every look while there is something to read. */
  #version(): Sql {
    if (this.#position === undefined) return sql`null`
    const { table, isHeld } = this.#followed
    const isDue = isHeld || performance.now() - this.#passedAt >= positionMs
    const hasNews = hasRowsBeyond(table, sql`${this.#position.passed}::pg_snapshot`)
    return sql`case when ${isDue}::bool or ${hasNews} then clock_timestamp()::text else ${idle} end`
  }

  /** Reads until nothing is new. */
  async #drain(): Promise<void> {
    while (!this.#isStopped) {
      try {
        const batch = await this.#queue.add(() => this.#step())
        if (batch === undefined || batch.events.length === 0) return
        if (batch.isComplete) await delay(busyMs)
      } catch (error) {
        const reason = messageOf(error)
        this.#deps.log.warn({ reason }, `failed to read ${this.#followed.name} for streams; retrying`)
        await delay(retryMs)
      }
    }
  }

  #isFresh(since: number): boolean {
    return this.#passedAt >= since && this.#position?.within === undefined
  }

  async #begin(): Promise<Position> {
    const begunAt = performance.now()
    const position = await this.#followed.begin()
    this.#passedAt = begunAt
    return position
  }

  /** @returns what was read; undefined when there are no listeners any more */
  async #step(): Promise<Batch<Event> | undefined> {
    if (this.#position?.within === undefined) this.#targetAt = performance.now()
    const batch = this.#position && (await this.#followed.read(this.#position))
    if (batch === undefined || this.#position === undefined) {
      this.#position = undefined
      return undefined
    }
    if (endOf(batch.target) < endOf(this.#position.passed)) {
      // A database restored into another cluster counts transactions anew.
      this.#position = await this.#begin()
      this.#followed.onBreak(this.#position)
      return batch
    }
    await this.#followed.deliver(batch)
    this.#position = positionAfterBatch(batch)
    if (batch.isComplete) this.#passedAt = this.#targetAt
    return batch
  }
}
