/** What a pool says to those that it shares connections with. */
export interface SharingPool {
  /** In use, idle and being opened. */
  readonly connectionCount: number
  readonly stats: { readonly idle: number; readonly waiting: number }
  /** Work waits, and there is no connection for any. */
  readonly isStarved: boolean
  /** @returns false when none is idle */
  closeIdle(): Promise<boolean>
  /** Another pool has a connection less, or one to spare. */
  reconsider(): void
}

/**
 * Bounds the connections of pools whose sessions log in as different roles, so that none can serve in place of another: a
 * pool that needs one more gets that of another pool which is idle, and one that has none gets the next that becomes free.
 */
export class SharedConnections {
  readonly #limit: number
  readonly #pools: SharingPool[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  add(pool: SharingPool): void {
    this.#pools.push(pool)
  }

  hasRoomFor(pool: SharingPool): boolean {
    return this.#count() < this.#limit || this.#others(pool).some(({ stats }) => stats.idle > 0)
  }

  /** For a connection that the pool counts already. */
  async makeRoomFor(pool: SharingPool): Promise<void> {
    if (this.#count() <= this.#limit) return
    for (const other of this.#others(pool)) if (await other.closeIdle()) return
  }

  /** Returns whether a connection that becomes free is due to another pool. */
  isWantedByOther(pool: SharingPool): boolean {
    return this.#count() >= this.#limit && this.#others(pool).some(({ isStarved }) => isStarved)
  }

  notify(pool: SharingPool): void {
    for (const other of this.#others(pool)) if (other.stats.waiting > 0) other.reconsider()
  }

  #count(): number {
    return this.#pools.reduce((sum, { connectionCount }) => sum + connectionCount, 0)
  }

  #others(pool: SharingPool): SharingPool[] {
    return this.#pools.filter((other) => other !== pool)
  }
}
