import { LinkedQueue } from './linked-queue.ts'

/** Handler that returns the results in the order of the items; undefined if items have no results. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without results returns nothing
type Handle<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[] | void>

interface BatchLimits {
  /** Number of items in a batch. */
  readonly size: number
  /** Maximum number of batches in flight; one by default. */
  readonly inFlight?: number
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Batcher that handles items together, for example by one statement. A batch contains the items of the same
 * turn of the event loop, and those that arrive while other batches are in flight. Batches begin in the order
 * in which the items arrived.
 */
export class Batcher<Item, Result = void> {
  readonly #handle: Handle<Item, Result>
  readonly #limits: BatchLimits
  readonly #waiting = new LinkedQueue<Waiting<Item, Result>>()
  readonly #inFlight = new Set<Promise<void>>()

  constructor(limits: BatchLimits, handle: Handle<Item, Result>) {
    this.#limits = limits
    this.#handle = handle
  }

  /** Adds an item; resolves with its result once its batch has been handled. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      this.#begin()
    })
  }

  /** Resolves when nothing is left to handle. */
  async settled(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight)
  }

  #begin(): void {
    const { inFlight = 1 } = this.#limits
    if (this.#waiting.length === 0 || this.#inFlight.size >= inFlight) return
    const batch = this.#handleNext().then(() => {
      this.#inFlight.delete(batch)
      this.#begin()
    })
    this.#inFlight.add(batch)
  }

  async #handleNext(): Promise<void> {
    // Items of the same turn form one batch.
    await Promise.resolve()
    const batch = this.#waiting.take(this.#limits.size)
    if (batch.length === 0) return
    try {
      const results = (await this.#handle(batch.map(({ item }) => item))) ?? []
      // The handler returns a result for each item, or items have none.
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}
