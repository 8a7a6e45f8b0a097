import { DatabaseError } from 'pg'

/** Runs works one after the other: what is written in the background takes one connection, however much there is. */
export type Lane = <Result>(work: () => Promise<Result>) => Promise<Result>

export function createLane(): Lane {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const running = last.then(work)
    last = running.catch(() => undefined)
    return running
  }
}

export interface WriteBehindOptions<Entry> {
  /** Writes a batch, in one statement. */
  readonly write: (entries: readonly Entry[]) => Promise<void>
  readonly lane: Lane
  /** Longest time an entry waits while the database is available. */
  readonly everyMs: number
  /**
   * Entries written at once, and as soon as so many wait: a burst every few seconds would hold up the requests that it
   * meets.
   */
  readonly batchSize: number
  /** Entries that may wait; further ones are dropped. */
  readonly capacity: number
  /** Called with the first failure of an outage. */
  readonly onFailure: (error: unknown) => void
}

/**
 * A bounded queue of entries that are written in batches. Adding never waits and never fails: while the database is
 * unavailable entries wait, and those beyond the capacity are dropped and counted.
 */
export class WriteBehind<Entry> {
  readonly #options: WriteBehindOptions<Entry>
  #queue: Entry[] = []
  /** Entries, from the first, that are to be written now. */
  #due = 0
  #dropped = 0
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> | undefined
  #isFailing = false
  #isStopped = false

  constructor(options: WriteBehindOptions<Entry>) {
    this.#options = options
  }

  /** Entries lost so far. */
  get dropped(): number {
    return this.#dropped
  }

  add(entry: Entry): void {
    if (this.#isStopped || this.#queue.length >= this.#options.capacity) {
      this.#dropped += 1
      return
    }
    this.#queue.push(entry)
    const { batchSize } = this.#options
    if (this.#isFailing || this.#queue.length - this.#due < batchSize) return
    this.#due += batchSize
    void this.#writeDue()
  }

  start(): void {
    this.#timer = setInterval(() => void this.flush(), this.#options.everyMs).unref()
  }

  /** Writes what waits, as far as the database allows. */
  flush(): Promise<void> {
    this.#due = this.#queue.length
    return this.#writeDue()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#flushing
    await this.flush()
    this.#isStopped = true
    this.#dropped += this.#queue.length
    this.#queue = []
  }

  #writeDue(): Promise<void> {
    this.#flushing ??= this.#writeBatches().finally(() => {
      this.#flushing = undefined
    })
    return this.#flushing
  }

  async #writeBatches(): Promise<void> {
    const { lane, batchSize, onFailure } = this.#options
    while (this.#due > 0) {
      const batch = this.#queue.slice(0, Math.min(batchSize, this.#due))
      try {
        await lane(() => this.#write(batch))
        this.#isFailing = false
      } catch (error) {
        if (!this.#isFailing) onFailure(error)
        this.#isFailing = true
        return
      }
      this.#queue.splice(0, batch.length)
      this.#due -= batch.length
    }
  }

  /** An entry that the database refuses is dropped alone: it must not hold up or take along the others. */
  async #write(batch: readonly Entry[]): Promise<void> {
    try {
      await this.#options.write(batch)
    } catch (error) {
      if (!isRefusal(error)) throw error
      if (batch.length === 1) {
        this.#dropped += 1
        return
      }
      const middle = Math.ceil(batch.length / 2)
      await this.#write(batch.slice(0, middle))
      await this.#write(batch.slice(middle))
    }
  }
}

/** Classes 22 and 23 (PostgreSQL, Error Codes): the values are to blame, and will be the next time. */
function isRefusal(error: unknown): boolean {
  return error instanceof DatabaseError && /^2[23]/.test(error.code ?? '')
}
