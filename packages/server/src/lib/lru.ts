/** A bounded map that forgets what was used least recently. */
export class Lru<Key, Value> {
  readonly #entries = new Map<Key, Value>()
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key)
    // While there is ample room nothing will be pushed out soon, and the order can wait.
    if (value !== undefined && this.#entries.size > this.#limit / 2) {
      // Map keeps insertion order: re-inserting makes the key the most recent.
      this.#entries.delete(key)
      this.#entries.set(key, value)
    }
    return value
  }

  /** Stores the entry and returns the key it pushed out, if any. */
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

  /** Forgets every entry whose value passes the test. */
  deleteWhere(test: (value: Value) => boolean): void {
    for (const [key, value] of this.#entries) if (test(value)) this.#entries.delete(key)
  }
}
