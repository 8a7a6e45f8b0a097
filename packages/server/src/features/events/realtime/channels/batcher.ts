/**
 * Writes what comes together by one statement: at once while nothing is being written, and otherwise as soon as that
 * has been. Everything is written in the order it came in.
 */
export class Batcher<Item> {
  readonly #write: (items: readonly Item[]) => Promise<void>
  readonly #limit: number
  #waiting: { readonly item: Item; readonly settle: (error?: unknown) => void }[] = []
  #working: Promise<void> | undefined

  /** @param limit how many go into one statement */
  constructor(limit: number, write: (items: readonly Item[]) => Promise<void>) {
    this.#limit = limit
    this.#write = write
  }

  /** Resolves when the item has been written. */
  add(item: Item): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: unknown) => (error === undefined ? resolve() : reject(error))
      this.#waiting.push({ item, settle })
      this.#working ??= this.#work()
    })
  }

  /** Resolves when nothing is left to write. */
  async settled(): Promise<void> {
    await this.#working
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#limit)
      const outcome = await this.#write(batch.map(({ item }) => item)).then(
        () => undefined,
        (error: unknown) => error,
      )
      for (const { settle } of batch) settle(outcome)
    }
    this.#working = undefined
  }
}
