import { type Clock, systemClock } from './clock.ts'
import { Lru } from './lru.ts'

/** Number of keys that are stored. */
const keyLimit = 1000

/** Filter of repeated events, which keeps an event on every request from filling the log. */
export class RecentKeys {
  readonly #clock: Clock
  readonly #periodMs: number
  /** Time at which each key was last new. */
  readonly #seenAt = new Lru<string, number>(keyLimit)

  constructor(periodMs: number, clock: Clock = systemClock) {
    this.#periodMs = periodMs
    this.#clock = clock
  }

  /** Returns true if the key has not been seen for the period, which then restarts. */
  isNew(key: string): boolean {
    const now = this.#clock.now().getTime()
    const before = this.#seenAt.get(key)
    if (before !== undefined && now - before < this.#periodMs) return false
    this.#seenAt.set(key, now)
    return true
  }
}
