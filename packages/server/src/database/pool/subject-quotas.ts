/** Number of connections of which one is reserved for other subjects; quick work needs few. */
const reservedOf = 8

/**
 * Quota of connections for each subject. A locked or slow relation holds its connections for long, so it may
 * not hold all of them.
 */
export class SubjectQuotas {
  #limit: number
  readonly #held = new Map<string, number>()
  readonly #exhausted = new Set<string>()
  readonly #listeners: ((subject: string) => void)[] = []

  /** @param size of the pool */
  constructor(size: number) {
    this.#limit = quotaOf(size)
  }

  /** Adapts the quotas to another size of the pool. */
  resize(size: number): void {
    this.#limit = quotaOf(size)
    for (const [subject, held] of this.#held) {
      const isExhausted = held >= this.#limit
      if (isExhausted === this.#exhausted.has(subject)) continue
      if (isExhausted) this.#exhausted.add(subject)
      else this.#exhausted.delete(subject)
      this.#notify(subject)
    }
  }

  /** Returns true if another connection may work on the subject. */
  admits(subject: string | undefined): boolean {
    return this.#exhausted.size === 0 || subject === undefined || !this.#exhausted.has(subject)
  }

  /** True if a subject has reached its quota. */
  get isAnyExhausted(): boolean {
    return this.#exhausted.size > 0
  }

  /** Adds a listener for a subject that reaches its quota, or is below it again. */
  onChange(listener: (subject: string) => void): void {
    this.#listeners.push(listener)
  }

  acquire(subject: string | undefined): void {
    if (subject === undefined) return
    const held = (this.#held.get(subject) ?? 0) + 1
    this.#held.set(subject, held)
    if (held < this.#limit || this.#exhausted.has(subject)) return
    this.#exhausted.add(subject)
    this.#notify(subject)
  }

  release(subject: string | undefined): void {
    if (subject === undefined) return
    const held = (this.#held.get(subject) ?? 0) - 1
    if (held > 0) this.#held.set(subject, held)
    else this.#held.delete(subject)
    if (held < this.#limit && this.#exhausted.delete(subject)) this.#notify(subject)
  }

  #notify(subject: string): void {
    for (const listener of this.#listeners) listener(subject)
  }
}

function quotaOf(size: number): number {
  return size < 4 ? size : size - Math.max(1, Math.floor(size / reservedOf))
}
