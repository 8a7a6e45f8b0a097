/**
 * Names of a connection's prepared statements, from the least to the most recently used. A name is kept until
 * its Close has been sent, whatever the outcome of its Parse. Otherwise statements that fail would pile up in
 * Postgres.
 */
export class PreparedNames {
  readonly #limit: number
  /** False for a name whose Parse failed or was skipped, as far as we know. */
  readonly #names = new Map<string, boolean>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Returns true if the statement certainly exists in Postgres. */
  has(name: string): boolean {
    if (this.#names.get(name) !== true) return false
    // While half of the capacity is free, nothing will be evicted soon, and the order can wait.
    if (this.#names.size > this.#limit / 2) this.add(name)
    return true
  }

  /** Adds the name of a statement that is being prepared. */
  add(name: string): void {
    // Map keeps insertion order: re-inserting makes the name the most recent.
    this.#names.delete(name)
    this.#names.set(name, true)
  }

  /** Marks a statement that may or may not exist. */
  invalidate(name: string): void {
    if (this.#names.has(name)) this.#names.set(name, false)
  }

  /**
   * Removes and returns the names beyond the limit, least recently used first, whose statements are to be
   * closed.
   */
  takeSurplus(): readonly string[] {
    const count = this.#names.size - this.#limit
    if (count <= 0) return []
    const surplus = [...this.#names.keys()].slice(0, count)
    for (const name of surplus) this.#names.delete(name)
    return surplus
  }
}
