import { randomUUID } from 'node:crypto'
import type { AppLimit } from '../../../http/access/identity.ts'
import { type LeaseRequest, type LeaseResponse, Permits } from './permits.ts'

/** Number of entries in memory before idle ones are removed. */
const sweepLimit = 1000

/** Permits of this node, by the key of whose requests are limited. */
export class PermitPool {
  readonly #lease: (key: string, limit: AppLimit, request: LeaseRequest) => Promise<LeaseResponse>
  readonly #permits = new Map<string, Permits>()
  #sweepAt = sweepLimit

  constructor(lease: (key: string, limit: AppLimit, request: LeaseRequest) => Promise<LeaseResponse>) {
    this.#lease = lease
  }

  get(key: string, limit: AppLimit): Permits {
    const existing = this.#permits.get(key)
    if (existing !== undefined) return existing
    if (this.#permits.size >= this.#sweepAt) this.#sweep()
    const permits = new Permits({
      limit,
      newId: randomUUID,
      now: () => performance.now(),
      lease: (request) => this.#lease(key, limit, request),
    })
    this.#permits.set(key, permits)
    return permits
  }

  /** Returns permits that this node has not used. */
  async stop(): Promise<void> {
    await Promise.allSettled([...this.#permits.values()].map((permits) => permits.stop()))
  }

  /** Removes idle entries. The next sweep is due at twice the rest, so that its cost per entry is constant. */
  #sweep(): void {
    for (const [key, { isIdle }] of this.#permits) if (isIdle) this.#permits.delete(key)
    this.#sweepAt = Math.max(sweepLimit, this.#permits.size * 2)
  }
}
