export interface ReadCacheOptions<Key, Value> {
  /** What the values weigh that are kept, at most. */
  readonly limit: number
  weigh(value: Value): number
  /** Undefined: there is none, which is not kept. */
  read(key: Key): Promise<Value | undefined>
}

/** Values that never change, read when they are first asked for; the least recently used go first. */
export class ReadCache<Key, Value> {
  readonly #options: ReadCacheOptions<Key, Value>
  readonly #values = new Map<Key, Value>()
  readonly #reading = new Map<Key, Promise<Value | undefined>>()
  #weight = 0

  constructor(options: ReadCacheOptions<Key, Value>) {
    this.#options = options
  }

  /** Requests for the same key at the same time are one read. */
  async get(key: Key): Promise<Value | undefined> {
    const known = this.#values.get(key)
    if (known !== undefined) {
      this.#values.delete(key)
      this.#values.set(key, known)
      return known
    }
    const reading = this.#reading.get(key)
    if (reading !== undefined) return await reading
    const read = this.#read(key).finally(() => this.#reading.delete(key))
    this.#reading.set(key, read)
    return await read
  }

  async #read(key: Key): Promise<Value | undefined> {
    const { limit, weigh } = this.#options
    const value = await this.#options.read(key)
    // One that would push out a quarter of the others is not worth it.
    if (value === undefined || weigh(value) > limit / 4) return value
    this.#values.set(key, value)
    this.#weight += weigh(value)
    for (const [oldest, each] of this.#values) {
      if (this.#weight <= limit) break
      this.#values.delete(oldest)
      this.#weight -= weigh(each)
    }
    return value
  }
}
