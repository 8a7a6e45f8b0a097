import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Queryable } from '../../database/system-database.ts'
import { messageOf } from '../../lib/errors.ts'
import { type Batch, positionBehind, readEnd, readLog } from './event.ts'
import { endOf, type Position } from './position.ts'

export interface LogFollowerOptions {
  readonly database: Queryable
  /** What is listened to; nothing is read while it is empty. */
  readonly tables: () => readonly string[]
  /** Hands a batch to the streams. Resolves when the next one may come. */
  readonly deliver: (batch: Batch) => Promise<void>
  /** The log is not the one that was read before: what lies between cannot be told. */
  readonly onBreak: () => void
  readonly log: Logger
}

/** How often the log is read while somebody listens and nothing happens. */
const idleMs = 40
/** The same while events come. */
const busyMs = 10
const retryMs = 250
const batchSize = 500

/**
 * Reads the log for the streams of this node, each node for itself: the place it has reached is a snapshot in memory,
 * as a stream that is cut off goes on by the place it was sent.
 */
export class LogFollower {
  readonly #options: LogFollowerOptions
  #position: Position | undefined
  /** Steps and what must not happen in the middle of one, in order. */
  #turns: Promise<void> = Promise.resolve()
  #loop: Promise<void> | undefined
  #isStopped = false

  constructor(options: LogFollowerOptions) {
    this.#options = options
  }

  /** How far every stream has been sent what it is to be sent, or will be before anything later. */
  get position(): Position | undefined {
    return this.#position
  }

  /**
   * Runs the work between two steps.
   *
   * @param work is told the place that the log has been read to
   */
  between<Result>(work: (position: Position) => Promise<Result> | Result): Promise<Result> {
    const turn = this.#turns.then(async () => {
      this.#position ??= await readEnd(this.#options.database)
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
        this.#options.log.warn({ reason: messageOf(error) }, 'cannot read the log of changes for streams')
        waitMs = retryMs
      }
      if (waitMs > 0) await delay(waitMs)
    }
    this.#loop = undefined
  }

  /** @returns what came; undefined when nobody listens any more */
  #turn(): Promise<Batch | undefined> {
    const turn = this.#turns.then(() => this.#step())
    this.#turns = turn.then(
      () => undefined,
      () => undefined,
    )
    return turn
  }

  async #step(): Promise<Batch | undefined> {
    const { database, tables, deliver, onBreak } = this.#options
    const listened = tables()
    if (listened.length === 0 || this.#position === undefined) {
      this.#position = undefined
      return undefined
    }
    const batch = await readLog(database, this.#position, listened, batchSize)
    if (endOf(batch.target) < endOf(this.#position.passed)) {
      // A database restored into another cluster counts transactions anew.
      this.#position = await readEnd(database)
      onBreak()
      return batch
    }
    await deliver(batch)
    this.#position = positionBehind(batch)
    return batch
  }
}
