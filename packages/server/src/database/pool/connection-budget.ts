import type { Pool, PoolObserver } from './pool.ts'
import type { SharedConnections } from './shared-connections.ts'

/** Pools of a process. */
export interface BudgetedPools {
  readonly system: Pool
  /** Pools of requests, one for each login. */
  readonly requests: readonly Pool[]
  /** Common limit of the pools of requests. */
  readonly shared: SharedConnections
}

/** Division of a process's connections. */
interface Division {
  /** Connections for sign-in, health and housekeeping. */
  readonly system: number
  readonly requests: number
}

/** Part of the connections that is reserved for the system, and its minimum. */
const systemPart = { of: 5, least: 2 }

export function divideConnections(limit: number): Division {
  const system = Math.max(systemPart.least, Math.floor(limit / systemPart.of))
  return { system, requests: limit - system }
}

/** Returns the smallest limit whose division has these connections. */
export function limitFor({ system, requests }: Division): number {
  let limit = Math.max(requests + systemPart.least, system > systemPart.least ? system * systemPart.of : 0)
  while (divideConnections(limit).requests < requests) limit += 1
  return limit
}

/** Connections of a process: their limit, which may change, and the need for them. */
export class ConnectionBudget implements PoolObserver {
  #limit: number
  #pools: BudgetedPools | undefined
  readonly #onFull: (() => void)[] = []
  readonly #onClosed: (() => void)[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Maximum number of connections. */
  get limit(): number {
    return this.#limit
  }

  /** True while more connections than the limit are open, being opened or being closed. */
  get isExceeded(): boolean {
    if (this.#pools === undefined) return false
    const { system, requests } = this.#pools
    const sizes = divideConnections(this.#limit)
    // Each part has its own limit: one that is below it may open connections again.
    return system.connectionCount > sizes.system || sum(requests, 'connectionCount') > sizes.requests
  }

  /** Limit that the work at hand could use. */
  get wanted(): number {
    if (this.#pools === undefined) return 0
    const { system, requests } = this.#pools
    return limitFor({ system: system.wantedCount, requests: sum(requests, 'wantedCount') })
  }

  /** Assigns the pools, which have this observer. */
  assign(pools: BudgetedPools): void {
    this.#pools = pools
  }

  /** Changes the limit. Connections beyond it are closed, idle ones at once, others when they are released. */
  resize(limit: number): void {
    this.#limit = limit
    const sizes = divideConnections(limit)
    this.#pools?.shared.resize(sizes.requests)
    this.#pools?.system.resize(sizes.system)
    for (const pool of this.#pools?.requests ?? []) pool.resize(sizes.requests)
  }

  /** Adds a listener that is called while work waits for a connection beyond the limit. */
  whenFull(listener: () => void): void {
    this.#onFull.push(listener)
  }

  /** Adds a listener that is called when a connection was closed. */
  whenClosed(listener: () => void): void {
    this.#onClosed.push(listener)
  }

  onFull(): void {
    for (const listener of this.#onFull) listener()
  }

  onClosed(): void {
    for (const listener of this.#onClosed) listener()
  }
}

function sum(pools: readonly Pool[], property: 'connectionCount' | 'wantedCount'): number {
  return pools.reduce((total, pool) => total + pool[property], 0)
}
