/**
 * Names of the statements one connection has prepared, from the least to the most recently used. A name is kept
 * until its Close has been sent, whatever became of its Parse: otherwise statements that fail would pile up in
 * Postgres.
 */
export class PreparedNames {
  readonly #limit: number
  /** False for a name whose Parse failed or was skipped, as far as we know. */
  readonly #names = new Map<string, boolean>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Whether the statement certainly exists in Postgres. */
  has(name: string): boolean {
    if (this.#names.get(name) !== true) return false
    // While there is ample room nothing will be pushed out soon, and the order can wait.
    if (this.#names.size > this.#limit / 2) this.add(name)
    return true
  }

  /** The statement is being prepared. */
  add(name: string): void {
    // Map keeps insertion order: re-inserting makes the name the most recent.
    this.#names.delete(name)
    this.#names.set(name, true)
  }

  /** The statement may or may not exist. */
  invalidate(name: string): void {
    if (this.#names.has(name)) this.#names.set(name, false)
  }

  /** Forgets and answers those beyond the limit, least recently used first; they are to be closed. */
  takeSurplus(): readonly string[] {
    const count = this.#names.size - this.#limit
    if (count <= 0) return []
    const surplus = [...this.#names.keys()].slice(0, count)
    for (const name of surplus) this.#names.delete(name)
    return surplus
  }
}
