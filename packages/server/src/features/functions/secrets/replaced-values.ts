/** Value that was replaced or removed. */
interface ReplacedValue {
  readonly name: string
  readonly value: string
  /** Time at which it is forgotten. */
  readonly until: number
}

/** Values of secrets that calls in flight may still have. They are redacted for a limited time. */
export class ReplacedValues {
  readonly #keptMs: number
  readonly #limit: number
  #values: readonly ReplacedValue[] = []

  constructor({ keptMs, limit }: { readonly keptMs: number; readonly limit: number }) {
    this.#keptMs = keptMs
    this.#limit = limit
  }

  /** Remembers the values that a change has replaced, the latest ones up to the limit. */
  add(previous: ReadonlyMap<string, string>, current: ReadonlyMap<string, string>, now: number): void {
    const replaced = [...previous].filter(([name, value]) => current.get(name) !== value)
    const until = now + this.#keptMs
    this.#values = [...this.#values, ...replaced.map(([name, value]) => ({ name, value, until }))].slice(
      -this.#limit,
    )
  }

  /** Forgets the values whose time is over. Returns false if there are none. */
  expire(now: number): boolean {
    const [oldest] = this.#values
    if (oldest === undefined || oldest.until > now) return false
    this.#values = this.#values.filter(({ until }) => until > now)
    return true
  }

  get entries(): readonly (readonly [name: string, value: string])[] {
    return this.#values.map(({ name, value }) => [name, value] as const)
  }
}
