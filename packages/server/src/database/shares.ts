/** Of so many connections one is left to others; quick work needs few. */
const reservedOf = 8

/**
 * How many connections work on each subject. One that is locked or slow holds what it has for long, so it may not
 * have them all: the rest is left to the others.
 */
export class Shares {
  readonly #limit: number
  readonly #held = new Map<string, number>()
  readonly #full = new Set<string>()
  readonly #listeners: (() => void)[] = []

  /** @param size of the pool */
  constructor(size: number) {
    this.#limit = size < 4 ? size : size - Math.max(1, Math.floor(size / reservedOf))
  }

  /** Whether another connection may work on the subject. */
  admits(subject: string | undefined): boolean {
    return this.#full.size === 0 || subject === undefined || !this.#full.has(subject)
  }

  /** Whether there is a subject that has its share. */
  get isAnyFull(): boolean {
    return this.#full.size > 0
  }

  /** Calls the listener when a subject no longer has all of its share. */
  onRoom(listener: () => void): void {
    this.#listeners.push(listener)
  }

  enter(subject: string | undefined): void {
    if (subject === undefined) return
    const held = (this.#held.get(subject) ?? 0) + 1
    this.#held.set(subject, held)
    if (held >= this.#limit) this.#full.add(subject)
  }

  leave(subject: string | undefined): void {
    if (subject === undefined) return
    const held = (this.#held.get(subject) ?? 0) - 1
    if (held > 0) this.#held.set(subject, held)
    else this.#held.delete(subject)
    if (held >= this.#limit || !this.#full.delete(subject)) return
    for (const listener of this.#listeners) listener()
  }
}
