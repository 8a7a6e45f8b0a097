/** Pool that shares a limit of connections with others. */
export interface SharingPool {
  /** Number of connections in use, idle and being opened. */
  readonly connectionCount: number
  readonly stats: { readonly idle: number; readonly waiting: number }
  /** True if work waits, and the pool has no connection at all. */
  readonly isStarved: boolean
  /** Closes an idle connection. @returns false when none is idle */
  closeIdle(): Promise<boolean>
  /** Checks the waiting work again, after another pool has closed a connection or has an idle one. */
  reconsider(): void
}

/**
 * Common limit for pools whose sessions log in as different roles, so that no pool can use the connections of
 * another. A pool that needs one more makes another pool close an idle one. A pool without any gets the next
 * one that becomes free.
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

  hasCapacityFor(pool: SharingPool): boolean {
    return this.#count() < this.#limit || this.#others(pool).some(({ stats }) => stats.idle > 0)
  }

  /** Closes an idle connection of another pool, for one that this pool already counts. */
  async freeCapacityFor(pool: SharingPool): Promise<void> {
    if (this.#count() <= this.#limit) return
    for (const other of this.#others(pool)) if (await other.closeIdle()) return
  }

  /** Returns true if a connection that becomes free is due to another pool. */
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
