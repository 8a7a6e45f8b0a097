import { AsyncLocalStorage } from 'node:async_hooks'
import { DatabaseError } from 'pg'
import type { TaskQueue } from '../lib/task-queue.ts'

/** How long a statement waits for another batch to become full. */
const nextBatchMs = 100

/** Entries that are written together: an array, or what encodes each as it comes. */
export interface Batch<Entry, Same> {
  readonly length: number
  push(entry: Entry): unknown
  slice(start: number, end?: number): Same
  /** Where there is one, the batch is filled again after it has been written: what it holds is not allocated anew. */
  clear?(): void
}

export interface WriteBehindOptions<Entry, Entries extends Batch<Entry, Entries> = Entry[]> {
  readonly createBatch: () => Entries
  /**
   * Writes a batch in one statement.
   *
   * @param following further batches as they become full: those that are taken belong to the same statement
   */
  readonly write: (batch: Entries, following: AsyncIterable<Entries>) => Promise<void>
  /** What is written in the background takes one connection, however much there is. */
  readonly lane: TaskQueue
  /** Longest time an entry waits while the database is available. */
  readonly everyMs: number
  /**
   * Entries written at once, and as soon as so many wait: a burst every few seconds would hold up the requests that it
   * meets.
   */
  readonly batchSize: number
  /** Longest time that a statement stays open for batches as they become full; 0 by default, it has one batch. */
  readonly followMs?: number | undefined
  /** Entries that may wait; further ones are dropped. */
  readonly capacity: number
  /** Called with the first failure of an outage. */
  readonly onFailure: (error: unknown) => void
}

/**
 * A bounded queue of entries that are written in batches. Adding never waits and never fails: while the database is
 * unavailable entries wait, and those beyond the capacity are dropped and counted.
 */
export class WriteBehind<Entry, Entries extends Batch<Entry, Entries> = Entry[]> {
  readonly #options: WriteBehindOptions<Entry, Entries>
  /** What is written belongs to no request, nor to its trace. */
  readonly #outsideRequests = AsyncLocalStorage.snapshot()
  #filling: Entries
  /** Those that are full or whose time has come, in the order they are written. */
  #due: Entries[] = []
  /** Empty ones, to be filled again. */
  readonly #cleared: Entries[] = []
  /** Entries in all of them. */
  #length = 0
  #dropped = 0
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> | undefined
  #onDue: (() => void) | undefined
  #isFailing = false
  #isStopping = false
  #isStopped = false

  constructor(options: WriteBehindOptions<Entry, Entries>) {
    this.#options = options
    this.#filling = options.createBatch()
  }

  /** Entries lost so far. */
  get dropped(): number {
    return this.#dropped
  }

  add(entry: Entry): void {
    const { capacity, batchSize } = this.#options
    if (this.#isStopped || this.#length >= capacity) {
      this.#dropped += 1
      return
    }
    this.#filling.push(entry)
    this.#length += 1
    if (this.#filling.length < batchSize) return
    this.#makeDue()
    if (!this.#isFailing) void this.#writeDue()
  }

  start(): void {
    this.#timer = setInterval(() => void this.flush(), this.#options.everyMs).unref()
  }

  /** Writes what waits, as far as the database allows. */
  async flush(): Promise<void> {
    // While the database is unavailable the last batch keeps filling: else there would be another each time.
    const wasFailing = this.#isFailing
    if (!wasFailing) this.#makeDue()
    await this.#writeDue()
    if (wasFailing && !this.#isFailing) await this.flush()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#isStopping = true
    this.#onDue?.()
    await this.#flushing
    await this.flush()
    this.#isStopped = true
    this.#dropped += this.#length
    this.#due = []
    this.#length = 0
  }

  #makeDue(): void {
    if (this.#filling.length === 0) return
    this.#due.push(this.#filling)
    this.#filling = this.#cleared.pop() ?? this.#options.createBatch()
    this.#onDue?.()
  }

  /** Removes the first batches. */
  #forget(count: number): void {
    for (const batch of this.#due.splice(0, count)) {
      this.#length -= batch.length
      if (batch.clear === undefined) continue
      batch.clear()
      this.#cleared.push(batch)
    }
  }

  #writeDue(): Promise<void> {
    this.#flushing ??= this.#outsideRequests(() => this.#writeBatches()).finally(() => {
      this.#flushing = undefined
    })
    return this.#flushing
  }

  async #writeBatches(): Promise<void> {
    const { lane, onFailure } = this.#options
    try {
      while (this.#due.length > 0) {
        this.#forget(await lane.add(() => this.#writeFirst()))
        this.#isFailing = false
      }
    } catch (error) {
      if (!this.#isFailing) onFailure(error)
      this.#isFailing = true
    }
  }

  /** @returns how many batches were written, from the first */
  async #writeFirst(): Promise<number> {
    const first = this.#due[0]
    if (first === undefined) return 0
    const taken = [first]
    try {
      await this.#options.write(first, this.#follow(taken))
    } catch (error) {
      if (!isRefusal(error)) throw error
      for (const batch of taken) await this.#writeApart(batch)
    }
    return taken.length
  }

  /** An entry that the database refuses is dropped alone: it must not hold up or take along the others. */
  async #writeApart(batch: Entries): Promise<void> {
    try {
      await this.#options.write(batch, none())
    } catch (error) {
      if (!isRefusal(error)) throw error
      if (batch.length === 1) {
        this.#dropped += 1
        return
      }
      const middle = Math.ceil(batch.length / 2)
      await this.#writeApart(batch.slice(0, middle))
      await this.#writeApart(batch.slice(middle))
    }
  }

  /**
   * What a statement takes beyond its first batch. All of it stays in the queue until the statement has ended. Ends with
   * a batch that is not full, when none becomes due for a while, when it is time, or when something else is to be written.
   */
  async *#follow(taken: Entries[]): AsyncGenerator<Entries> {
    const { followMs = 0, batchSize, capacity, lane } = this.#options
    if (this.#isFailing || this.#isStopping) return
    const mostBatches = capacity / batchSize / 2
    const endsAt = performance.now() + followMs
    const isFull = (batch: Entries | undefined): boolean => batch?.length === batchSize
    while (taken.length < mostBatches && isFull(taken.at(-1)) && performance.now() < endsAt) {
      await this.#dueAt(taken.length)
      const next = this.#due[taken.length]
      if (next === undefined || this.#isStopping || lane.size > 1) return
      taken.push(next)
      yield next
    }
  }

  /** Resolves when that many batches and one are due, or are not for a while. */
  async #dueAt(position: number): Promise<void> {
    if (position < this.#due.length) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, nextBatchMs)
    this.#onDue = resolve
    await promise
    this.#onDue = undefined
    clearTimeout(timer)
  }
}

async function* none(): AsyncGenerator<never> {}

/** Classes 22 and 23 (PostgreSQL, Error Codes): the values are to blame, and will be the next time. */
function isRefusal(error: unknown): boolean {
  return error instanceof DatabaseError && /^2[23]/.test(error.code ?? '')
}
