import { LinkedQueue } from '../../../../lib/linked-queue.ts'

/**
 * Handles what comes together by one statement: at once while none runs, and otherwise as soon as that one has ended.
 * Everything is handled in the order it came in.
 */
export class Batcher<Item> {
  readonly #handle: (items: readonly Item[]) => Promise<void>
  readonly #limit: number
  readonly #waiting = new LinkedQueue<{
    readonly item: Item
    readonly settle: (error?: unknown) => void
  }>()
  #working: Promise<void> | undefined

  /** @param limit how many go into one statement */
  constructor(limit: number, handle: (items: readonly Item[]) => Promise<void>) {
    this.#limit = limit
    this.#handle = handle
  }

  /** Resolves when the item has been handled. */
  add(item: Item): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: unknown) => (error === undefined ? resolve() : reject(error))
      this.#waiting.push({ item, settle })
      this.#working ??= this.#work()
    })
  }

  /** Resolves when nothing is left to handle. */
  async settled(): Promise<void> {
    await this.#working
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.take(this.#limit)
      const outcome = await this.#handle(batch.map(({ item }) => item)).then(
        () => undefined,
        (error: unknown) => error,
      )
      for (const { settle } of batch) settle(outcome)
    }
    this.#working = undefined
  }
}
