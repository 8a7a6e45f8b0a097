export interface ReadCacheOptions<Key, Value> {
  /** Maximum total weight of the cached values. */
  readonly limit: number
  weigh(value: Value): number
  /** Reads a value. A missing one is undefined, and is not cached. */
  read(key: Key): Promise<Value | undefined>
}

/** Cache of immutable values that are read on first use; the least recently used ones are evicted first. */
export class ReadCache<Key, Value> {
  readonly #options: ReadCacheOptions<Key, Value>
  readonly #values = new Map<Key, Value>()
  readonly #reading = new Map<Key, Promise<Value | undefined>>()
  #weight = 0

  constructor(options: ReadCacheOptions<Key, Value>) {
    this.#options = options
  }

  /** Returns a value. Concurrent calls for the same key share one read. */
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
    // A value that would evict a quarter of the others is not cached.
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
