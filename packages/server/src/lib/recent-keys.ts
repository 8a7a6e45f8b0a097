import { type Clock, systemClock } from './clock.ts'
import { Lru } from './lru.ts'

/** Keys that are remembered. */
const keyLimit = 1000

/** Keeps what happens on every request from filling the log. */
export class RecentKeys {
  readonly #clock: Clock
  readonly #periodMs: number
  /** When each key was new last. */
  readonly #seenAt = new Lru<string, number>(keyLimit)

  constructor(periodMs: number, clock: Clock = systemClock) {
    this.#periodMs = periodMs
    this.#clock = clock
  }

  /** Returns whether the key has not been seen for the period, which begins again then. */
  isNew(key: string): boolean {
    const now = this.#clock.now().getTime()
    const before = this.#seenAt.get(key)
    if (before !== undefined && now - before < this.#periodMs) return false
    this.#seenAt.set(key, now)
    return true
  }
}
