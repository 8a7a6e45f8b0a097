import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Queryable } from '../../../../database/system-database.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { type Batch, positionBehind, readEnd } from './batch.ts'
import { endOf, type Position } from './position.ts'

export interface FollowerOptions<Event extends { readonly id: string }> {
  readonly database: Queryable
  /** What is read, for the log: `the log of changes`. */
  readonly what: string
  /** Where to begin: the end of the log, unless given. */
  readonly begin?: () => Promise<Position>
  /** Reads on; undefined while nobody listens. */
  readonly read: (from: Position) => Promise<Batch<Event>> | undefined
  /** Hands a batch to the streams. Resolves when the next one may come. */
  readonly deliver: (batch: Batch<Event>) => Promise<void>
  /** The log is not the one that was read before: what lies between cannot be told. */
  readonly onBreak: () => void
  readonly log: Logger
}

/** How often the log is read while somebody listens and nothing happens. */
const idleMs = 40
/** The same while events come. */
const busyMs = 10
const retryMs = 250

/**
 * Reads a log for the streams of this node, each node for itself: the place it has reached is a snapshot in memory,
 * as a stream that is cut off goes on by the place it was sent.
 */
export class Follower<Event extends { readonly id: string }> {
  readonly #options: FollowerOptions<Event>
  #position: Position | undefined
  /** Steps and what must not happen in the middle of one, in order. */
  #turns: Promise<void> = Promise.resolve()
  #loop: Promise<void> | undefined
  #isStopped = false
  /** When the snapshot was taken that is being read up to, and the one that has been. */
  #targetAt = Number.NEGATIVE_INFINITY
  #passedAt = Number.NEGATIVE_INFINITY

  constructor(options: FollowerOptions<Event>) {
    this.#options = options
  }

  /** How far every stream has been sent what it is to be sent, or will be before anything later. */
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
    const turn = this.#turns.then(async () => {
      // Calls that come together share a step.
      while (isFresh && this.#position !== undefined && !this.#isFresh(calledAt)) await this.#step()
      this.#position ??= await this.#begin()
      try {
        return await work(this.#position)
      } finally {
        // Here and not before: the loop may have been about to end.
        this.#loop ??= this.#follow()
      }
    })
    this.#turns = turn.then(
      () => undefined,
      () => undefined,
    )
    return turn
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#loop
  }

  async #follow(): Promise<void> {
    while (!this.#isStopped) {
      let waitMs = idleMs
      try {
        const batch = await this.#turn()
        if (batch === undefined) break
        if (batch.events.length > 0) waitMs = batch.isComplete ? busyMs : 0
      } catch (error) {
        const { what, log } = this.#options
        log.warn({ reason: messageOf(error) }, `cannot read ${what} for streams`)
        waitMs = retryMs
      }
      if (waitMs > 0) await delay(waitMs)
    }
    this.#loop = undefined
  }

  /** @returns what came; undefined when nobody listens any more */
  #turn(): Promise<Batch<Event> | undefined> {
    const turn = this.#turns.then(() => this.#step())
    this.#turns = turn.then(
      () => undefined,
      () => undefined,
    )
    return turn
  }

  #isFresh(since: number): boolean {
    return this.#passedAt >= since && this.#position?.within === undefined
  }

  async #begin(): Promise<Position> {
    const begunAt = performance.now()
    const position = await (this.#options.begin?.() ?? readEnd(this.#options.database))
    this.#passedAt = begunAt
    return position
  }

  async #step(): Promise<Batch<Event> | undefined> {
    const { read, deliver, onBreak } = this.#options
    if (this.#position?.within === undefined) this.#targetAt = performance.now()
    const reading = this.#position && read(this.#position)
    if (reading === undefined || this.#position === undefined) {
      this.#position = undefined
      return undefined
    }
    const batch = await reading
    if (endOf(batch.target) < endOf(this.#position.passed)) {
      // A database restored into another cluster counts transactions anew.
      this.#position = await this.#begin()
      onBreak()
      return batch
    }
    await deliver(batch)
    this.#position = positionBehind(batch)
    if (batch.isComplete) this.#passedAt = this.#targetAt
    return batch
  }
}
