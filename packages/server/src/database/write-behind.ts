import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { DatabaseError } from 'pg'
import type { TaskQueue } from '../lib/task-queue.ts'

/** Time that a statement waits for another batch to become full. */
const nextBatchMs = 100

/** Time within which failed writes are repeated when the server stops, and the pause before each. */
const stopMs = 500
const stopPauseMs = 100

/**
 * Writes the last entries of a process. A failed write is repeated for a moment, as a busy database may have refused it.
 *
 * @param flush returns true if everything is written
 */
export async function flushAtStop(flush: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + stopMs
  while (!(await flush()) && performance.now() < endsAt) await delay(stopPauseMs)
}

/** Entries that are written together: an array, or an encoder of each entry. */
export interface Batch<Entry, Same> {
  readonly length: number
  push(entry: Entry): unknown
  slice(start: number, end?: number): Same
  /** Empties the batch for reuse after it has been written, so that its memory is not allocated again. */
  clear?(): void
}

export interface WriteBehindOptions<Entry, Entries extends Batch<Entry, Entries> = Entry[]> {
  readonly createBatch: () => Entries
  /**
   * Writes a batch in one statement.
   *
   * @param following further batches as they become full; those that are read belong to the same statement
   */
  readonly write: (batch: Entries, following: AsyncIterable<Entries>) => Promise<void>
  /** Queue of background writes, which use one connection in total. */
  readonly lane: TaskQueue
  /** Maximum wait of an entry while the database is available. */
  readonly everyMs: number
  /**
   * Size of a batch, which is written as soon as it is full. A burst every few seconds would delay the requests
   * that it meets.
   */
  readonly batchSize: number
  /**
   * Maximum time that a statement stays open for batches as they become full. With 0, the default, it has one
   * batch.
   */
  readonly followMs?: number | undefined
  /** Maximum number of waiting entries; further ones are dropped. */
  readonly capacity: number
  /** Called with the first failure of an outage. */
  readonly onFailure: (error: unknown) => void
}

/**
 * Bounded queue of entries that are written in batches. Adding never waits and never fails. While the database
 * is unavailable entries wait, and those beyond the capacity are dropped and counted.
 */
export class WriteBehind<Entry, Entries extends Batch<Entry, Entries> = Entry[]> {
  readonly #options: WriteBehindOptions<Entry, Entries>
  /** Snapshot outside of requests: the writes belong to no request, nor to its trace. */
  readonly #outsideRequests = AsyncLocalStorage.snapshot()
  #filling: Entries
  /** Full or due batches, in the order in which they are written. */
  #due: Entries[] = []
  /** Empty batches, to be filled again. */
  readonly #cleared: Entries[] = []
  /** Number of entries in all batches. */
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

  /** Number of entries lost so far. */
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

  /** Writes the waiting entries, as far as the database allows. */
  async flush(): Promise<void> {
    // While the database is unavailable the last batch keeps filling. Otherwise each flush would add another
    // one.
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
    await flushAtStop(async () => {
      await this.flush()
      return !this.#isFailing
    })
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

  /** Writes the first batches. @returns their number */
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

  /**
   * Writes each entry by itself. An entry that the database rejects is dropped, and must not delay or affect
   * the others.
   */
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
   * Yields further batches for a statement. All of them stay in the queue until the statement has ended. The
   * last one is a batch that is not full. The generator also ends when none becomes due for a while, when its
   * time is up, or when other work waits.
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

  /** Resolves when one more batch than that is due, or none becomes due for a while. */
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

/**
 * Returns true for errors of classes 22 and 23 (PostgreSQL, Error Codes): the values are at fault, and would
 * fail again.
 */
function isRefusal(error: unknown): boolean {
  return error instanceof DatabaseError && /^2[23]/.test(error.code ?? '')
}
