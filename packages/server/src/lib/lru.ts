/** Bounded map that evicts the least recently used entry. */
export class Lru<Key, Value> {
  readonly #entries = new Map<Key, Value>()
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key)
    // While half of the capacity is free, nothing will be evicted soon, and the order can wait.
    if (value !== undefined && this.#entries.size > this.#limit / 2) {
      // Map keeps insertion order: re-inserting makes the key the most recent.
      this.#entries.delete(key)
      this.#entries.set(key, value)
    }
    return value
  }

  /** Stores the entry and returns the evicted key, if any. */
  set(key: Key, value: Value): Key | undefined {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#limit) return undefined
    const [oldest] = this.#entries.keys()
    if (oldest === undefined) return undefined
    this.#entries.delete(oldest)
    return oldest
  }

  delete(key: Key): void {
    this.#entries.delete(key)
  }

  /** Deletes every entry whose value passes the test. */
  deleteWhere(test: (value: Value) => boolean): void {
    for (const [key, value] of this.#entries) if (test(value)) this.#entries.delete(key)
  }
}
