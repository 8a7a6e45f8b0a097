/** Source of slots. */
export type SlotSource = Pick<Slots, 'acquire' | 'release'>

interface Waiter {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * Slots for transactions of functions. Waiting functions get them round-robin, so that many calls of one do not keep the calls
 * of another waiting.
 */
export class Slots {
  readonly #limit: () => number
  #used = 0
  /** Waiters by function. The first function is the next. */
  readonly #waiting = new Map<string, Waiter[]>()

  constructor(limit: () => number) {
    this.#limit = limit
  }

  /** Waits for a slot. @param signal ends the waiting, which then rejects with its reason */
  async acquire(name: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#used < this.#limit() && this.#waiting.size === 0) {
      this.#used += 1
      return
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter: Waiter = { resolve, reject }
    const queue = this.#waiting.get(name)
    if (queue === undefined) this.#waiting.set(name, [waiter])
    else queue.push(waiter)
    const abort = () => {
      this.#remove(name, waiter)
      reject(signal.reason)
    }
    signal.addEventListener('abort', abort, { once: true })
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  release(): void {
    this.#used -= 1
    if (this.#used >= this.#limit()) return
    const [next] = this.#waiting
    if (next === undefined) return
    const [name, queue] = next
    const waiter = queue.shift()
    this.#waiting.delete(name)
    if (queue.length > 0) this.#waiting.set(name, queue)
    this.#used += 1
    waiter?.resolve()
  }

  #remove(name: string, waiter: Waiter): void {
    const queue = this.#waiting.get(name)?.filter((each) => each !== waiter) ?? []
    if (queue.length > 0) this.#waiting.set(name, queue)
    else this.#waiting.delete(name)
  }
}

/** Returns the slots of a part of the functions, which also need one of its quota. */
export function withinQuota(slots: SlotSource, quota: SlotSource): SlotSource {
  return {
    async acquire(name, signal) {
      await quota.acquire(name, signal)
      try {
        await slots.acquire(name, signal)
      } catch (error) {
        quota.release()
        throw error
      }
    },
    release() {
      slots.release()
      quota.release()
    },
  }
}
