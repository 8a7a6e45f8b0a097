import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Notifications, WatchHandle } from '../../../../database/notifications/notifications.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { TaskQueue } from '../../../../lib/task-queue.ts'
import { hasRowsBeyond } from '../../outbox/index.ts'
import { type Batch, positionAfterBatch } from './batch.ts'
import { endOf, isOtherTimeline, type Position } from './position.ts'

/** Log that a follower reads, with the handling of its events. It does not know its follower. */
export interface FollowedLog<Event extends { readonly id: string }> {
  /** Topic that is announced after each commit with new rows in the log. */
  readonly topic: string
  /** Table of the log, with the columns `id` and `transaction_id`. */
  readonly table: Sql
  /** Name in messages to the operator, such as `the log of changes`. */
  readonly name: string
  /** True while the position must advance although nothing is appended, because the state that it sees is held. */
  readonly holdsState: boolean
  /** Returns the position at which to begin. */
  begin(): Promise<Position>
  /** Reads the next batch. Returns undefined if there are no listeners. */
  read(from: Position): Promise<Batch<Event> | undefined>
  /** Passes a batch to the streams. Resolves when the next one may follow. */
  deliver(batch: Batch<Event>): Promise<void>
  /** Handles a log that is another one than before, so that events before the position are unknown. */
  onBreak(position: Position): void
}

export interface FollowerDeps {
  readonly notifications: Pick<Notifications, 'watch'>
  readonly log: Logger
}

/**
 * Milliseconds between two polls while there are listeners, for changes that nothing announces, such as those by plain
 * SQL.
 */
const pollMs = 40
/** Milliseconds between two steps while events arrive. */
const activePollMs = 10
const retryMs = 250
/** Maximum age in milliseconds of the position while nothing is appended. Clients resume from it. */
const positionMs = 1000
/** Version while there is nothing to read. */
const idle = 'idle'

/**
 * Reader of a log for the streams of this node. Each node reads for itself. Its position is a snapshot in memory,
 * because a disconnected stream resumes from the position that it received.
 */
export class Follower<Event extends { readonly id: string }> {
  readonly #deps: FollowerDeps
  readonly #followed: FollowedLog<Event>
  readonly #handle: WatchHandle
  /** Queue of steps, and of work that must not run during one. */
  readonly #queue = new TaskQueue()
  #position: Position | undefined
  #isStopped = false
  /** Times of the snapshot up to which the log is being read, and of the last one that was reached. */
  #targetAt = Number.NEGATIVE_INFINITY
  #passedAt = Number.NEGATIVE_INFINITY

  constructor(deps: FollowerDeps, followed: FollowedLog<Event>) {
    this.#deps = deps
    this.#followed = followed
    this.#handle = deps.notifications.watch({
      topic: followed.topic,
      version: () => this.#version(),
      everyMs: () => (this.#position === undefined ? undefined : pollMs),
      // Without streams there is nothing to poll.
      isForLeader: () => this.#position === undefined,
      // While events arrive, the log is read anyway. It is not polled before the drain has ended.
      onChange: (version) => (version === null || version === idle ? undefined : this.#drain()),
    })
  }

  /** Position up to which every stream has received everything, or will before anything later. */
  get position(): Position | undefined {
    return this.#position
  }

  /**
   * Runs work between two steps.
   *
   * @param work receives the position up to which the log has been read
   * @param isFresh true if that must be a snapshot from after this call
   */
  between<Result>(work: (position: Position) => Promise<Result> | Result, isFresh = false): Promise<Result> {
    const calledAt = performance.now()
    return this.#queue.add(async () => {
      // Concurrent calls share a step.
      while (isFresh && this.#position !== undefined && !this.#isFresh(calledAt)) await this.#step()
      const isIdle = this.#position === undefined
      this.#position ??= await this.#begin()
      if (isIdle) this.#handle.poll().catch(() => undefined)
      return await work(this.#position)
    })
  }

  /** Ends after the step in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#queue.idle()
  }

  /** Compiles the version. It differs at every poll while there is something to read. */
  #version(): Sql {
    if (this.#position === undefined) return sql`null`
    const { table, holdsState } = this.#followed
    const isDue = holdsState || performance.now() - this.#passedAt >= positionMs
    const hasUnread = hasRowsBeyond(table, sql`${this.#position.passed}::pg_snapshot`)
    return sql`case when ${isDue}::bool or ${hasUnread} then clock_timestamp()::text else ${idle} end`
  }

  /** Continues to read until nothing is new. */
  async #drain(): Promise<void> {
    while (!this.#isStopped) {
      try {
        const batch = await this.#queue.add(() => this.#step())
        if (batch === undefined || batch.events.length === 0) return
        if (batch.isComplete) await delay(activePollMs)
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
    const startedAt = performance.now()
    const position = await this.#followed.begin()
    this.#passedAt = startedAt
    return position
  }

  /** @returns the batch; undefined if there are no listeners any more */
  async #step(): Promise<Batch<Event> | undefined> {
    if (this.#position?.within === undefined) this.#targetAt = performance.now()
    const batch = this.#position && (await this.#followed.read(this.#position))
    if (batch === undefined || this.#position === undefined) {
      this.#position = undefined
      return undefined
    }
    const { passed, timeline } = this.#position
    if (isOtherTimeline(batch.timeline, timeline) || endOf(batch.target) < endOf(passed)) {
      // A promoted standby, and a database that was restored into another cluster, have other transaction numbers.
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
