/** Pool that shares a limit of connections with others. */
export interface SharingPool {
  /** Number of connections in use, idle, being opened and being closed. */
  readonly connectionCount: number
  /** Number of those being closed. */
  readonly closingCount: number
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
  #limit: number
  readonly #pools: SharingPool[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  add(pool: SharingPool): void {
    this.#pools.push(pool)
  }

  /** Changes the limit. Connections beyond it are closed, idle ones at once, others when they are released. */
  resize(limit: number): void {
    this.#limit = limit
    for (const pool of this.#pools) {
      while (this.#countStaying() > limit && pool.stats.idle > 0) void pool.closeIdle()
    }
  }

  hasCapacityFor(pool: SharingPool): boolean {
    return this.#count() < this.#limit || this.#others(pool).some(({ stats }) => stats.idle > 0)
  }

  /** Closes an idle connection of another pool, for one that this pool already counts. */
  async freeCapacityFor(pool: SharingPool): Promise<void> {
    if (this.#count() <= this.#limit) return
    for (const other of this.#others(pool)) if (await other.closeIdle()) return
  }

  /**
   * Returns true if a released connection, which its pool no longer counts, must be closed: it is beyond the limit, or
   * due to another pool.
   */
  mustClose(pool: SharingPool): boolean {
    const others = this.#countStaying()
    if (others + 1 < this.#limit) return false
    return others >= this.#limit || this.#others(pool).some(({ isStarved }) => isStarved)
  }

  notify(pool: SharingPool): void {
    for (const other of this.#others(pool)) if (other.stats.waiting > 0) other.reconsider()
  }

  #count(): number {
    return this.#pools.reduce((sum, { connectionCount }) => sum + connectionCount, 0)
  }

  #countStaying(): number {
    return this.#pools.reduce((sum, pool) => sum + pool.connectionCount - pool.closingCount, 0)
  }

  #others(pool: SharingPool): SharingPool[] {
    return this.#pools.filter((other) => other !== pool)
  }
}
