import { LinkedQueue } from '../../../../lib/linked-queue.ts'

/** Bounds what runs at once; the rest waits in the order of its arrival. */
export class Slots {
  #free: number
  readonly #waiting = new LinkedQueue<() => void>()

  constructor(size: number) {
    this.#free = size
  }

  async use<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1
    else
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
      })
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }
}
