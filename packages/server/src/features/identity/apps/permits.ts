import type { AppLimit } from '../../../http/access/identity.ts'
import { LinkedQueue } from '../../../lib/linked-queue.ts'

/** Database response to a lease request. */
export interface LeaseResponse {
  /** Number of granted permits. Undefined when the app is no longer limited. */
  readonly granted: number | undefined
  /** Time until one more permit may be granted, if not all needed ones were. */
  readonly retryAfterMs: number | undefined
  /** Permits of the window that no node holds or has used. Undefined where it is not reported. */
  readonly unleased?: number | undefined
}

/** Report of a node about one lease. */
export interface LeaseReport {
  readonly id: string
  readonly used: number
  /** Permits that the node may still use. */
  readonly left: number
  /** Time from before the lease request until the last permit was used. */
  readonly usedForSeconds: number
}

export interface LeaseRequest {
  readonly id: string
  /** Number of permits that requests wait for. */
  readonly needed: number
  /** Number of permits to lease ahead of requests. */
  readonly neededAhead: number
  readonly reports: readonly LeaseReport[]
}

export interface PermitsOptions {
  readonly limit: AppLimit
  readonly newId: () => string
  readonly now: () => number
  readonly lease: (request: LeaseRequest) => Promise<LeaseResponse>
}

/** Refusal of a request. Undefined lets it pass. */
export type Refusal = { readonly retryAfterMs: number } | undefined

/** Lifetime of a lease. The database counts its permits as used until then, and the node uses none later. */
export const leaseSeconds = 2
/** Fraction of a window, at most a second, after which unused permits are returned. */
const heldFraction = 0.02
/** Fraction of a window, at most a second, after which a refused node requests permits again. */
const retryFraction = 0.02
/** Fraction of a window within which used permits are reported. Only then do they count from the time of their use. */
const reportFraction = 0.25

interface Lease {
  readonly id: string
  /** Time before the lease request, and so before the database began to count the lease. */
  readonly begunAt: number
  readonly heldUntil: number
  remaining: number
  used: number
  lastUsedAt: number
}

interface Waiting {
  readonly count: number
  readonly resolve: (refusal: Refusal) => void
  readonly reject: (error: unknown) => void
}

/**
 * Permits of one app, user or address on this node. Requests take them from memory. They come from the database in leases, and
 * the next lease is requested before the last one is used up.
 */
export class Permits {
  readonly #options: PermitsOptions
  #limit: AppLimit
  #leases: Lease[] = []
  #closed: LeaseReport[] = []
  readonly #waiting = new LinkedQueue<Waiting>()
  /** Number of permits that the waiting requests need. */
  #needed = 0
  /** Number of permits that the last lease brought ahead of requests. */
  #ahead = 0
  /** Permits that the database had left at the last lease. */
  #unleased = 0
  #refusedUntil = Number.NEGATIVE_INFINITY
  #retryAt = 0
  /** Time before which no permits are requested ahead. */
  #aheadAt = Number.NEGATIVE_INFINITY
  #leasing: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: PermitsOptions) {
    this.#options = options
    this.#limit = options.limit
  }

  /** True if nothing would be lost by dropping this object. */
  get isIdle(): boolean {
    const isEmpty = this.#leases.length === 0 && this.#closed.length === 0 && this.#waiting.length === 0
    return isEmpty && this.#leasing === undefined && this.#options.now() >= this.#refusedUntil
  }

  /** Number of permits that are left as far as this node knows. Other nodes may use some of them. */
  get available(): number {
    return Math.max(0, this.#unleased + this.#remaining)
  }

  /** Takes several permits, or none of them. */
  take(limit: AppLimit, count = 1): Refusal | Promise<Refusal> {
    this.#limit = limit
    const now = this.#options.now()
    if (this.#use(now, count)) {
      if (this.#remaining * 2 <= this.#ahead && now >= this.#aheadAt) this.#beginLeasing()
      return undefined
    }
    if (now < this.#refusedUntil) return this.#refusal(now)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ count, resolve, reject })
      this.#needed += count
      this.#beginLeasing()
    })
  }

  /** Returns all permits to the database. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#leasing?.catch(() => undefined)
    this.#closeLeases(() => true)
    if (this.#closed.length > 0) await this.#requestLease(0, 0)
    clearTimeout(this.#timer)
  }

  get #remaining(): number {
    return this.#leases.reduce((sum, { remaining }) => sum + remaining, 0)
  }

  #use(now: number, count: number): boolean {
    this.#closeLeases(({ remaining, heldUntil }) => remaining === 0 || heldUntil <= now)
    if (this.#remaining < count) return false
    let missing = count
    for (const lease of this.#leases) {
      const used = Math.min(missing, lease.remaining)
      if (used === 0) break
      lease.remaining -= used
      lease.used += used
      lease.lastUsedAt = now
      missing -= used
    }
    return true
  }

  /** Removes all waiting requests, and returns them in the order of arrival. */
  #takeWaiting(): readonly Waiting[] {
    this.#needed = 0
    return this.#waiting.take()
  }

  #closeLeases(isClosed: (lease: Lease) => boolean): void {
    if (!this.#leases.some(isClosed)) return
    for (const lease of this.#leases.filter(isClosed)) this.#closed.push(describe(lease, 0))
    this.#leases = this.#leases.filter((lease) => !isClosed(lease))
  }

  #refusal(now: number): Refusal {
    return { retryAfterMs: Math.min(Math.max(0, this.#retryAt - now), this.#limit.windowSeconds * 1000) }
  }

  /** Starts a lease request unless one is in flight. Requests that arrive in the meantime join the next one. */
  #beginLeasing(): void {
    this.#leasing ??= this.#leaseWhileNeeded()
      .catch((error) => {
        for (const { reject } of this.#takeWaiting()) reject(error)
      })
      .finally(() => {
        this.#leasing = undefined
        this.#scheduleReport()
        if (this.#waiting.length > 0) this.#beginLeasing()
      })
  }

  async #leaseWhileNeeded(): Promise<void> {
    do {
      // Requests that arrive in the same tick use one lease.
      await Promise.resolve()
      const needed = this.#needed
      const response = await this.#requestLease(needed, this.#limit.requests)
      const now = this.#options.now()
      if (response.granted === undefined) {
        for (const { resolve } of this.#takeWaiting()) resolve(undefined)
        return
      }
      this.#ahead = Math.max(0, response.granted - needed)
      if (this.#ahead === 0) this.#aheadAt = now + this.#fractionMs(retryFraction)
      this.#serve(now)
      if (response.retryAfterMs !== undefined) this.#refuse(now, response.retryAfterMs)
    } while (this.#waiting.length > 0)
  }

  /** Serves the waiting requests that the permits suffice for. */
  #serve(now: number): void {
    for (const waiting of this.#takeWaiting()) {
      if (this.#use(now, waiting.count)) {
        waiting.resolve(undefined)
      } else {
        this.#waiting.push(waiting)
        this.#needed += waiting.count
      }
    }
  }

  #refuse(now: number, retryAfterMs: number): void {
    this.#retryAt = now + retryAfterMs
    // Other nodes may return permits in the meantime.
    this.#refusedUntil = now + Math.min(retryAfterMs, this.#fractionMs(retryFraction))
    for (const { resolve } of this.#takeWaiting()) resolve(this.#refusal(now))
  }

  async #requestLease(needed: number, neededAhead: number): Promise<LeaseResponse> {
    const { newId, now, lease } = this.#options
    const id = newId()
    const begunAt = now()
    this.#closeLeases(({ remaining, heldUntil }) => remaining === 0 || heldUntil <= begunAt)
    const closed = this.#closed
    this.#closed = []
    const reports = [...closed, ...this.#leases.map((open) => describe(open, open.remaining))]
    try {
      const response = await lease({ id, needed, neededAhead, reports })
      this.#unleased = response.unleased ?? 0
      if ((response.granted ?? 0) > 0) this.#open(id, begunAt, response.granted ?? 0)
      return response
    } catch (error) {
      // The lease may have been granted although the request failed.
      this.#closed.push(...closed, { id, used: 0, left: 0, usedForSeconds: 0 })
      throw error
    }
  }

  #open(id: string, begunAt: number, granted: number): void {
    const heldMs = Math.max(50, this.#fractionMs(heldFraction))
    const now = this.#options.now()
    const isLate = now - begunAt >= leaseSeconds * 1000
    // Waiting requests use their permits at once, however long the response took, while the lease lasts.
    const heldUntil = isLate ? now : Math.min(now + heldMs, begunAt + leaseSeconds * 1000)
    this.#leases.push({ id, begunAt, heldUntil, remaining: granted, used: 0, lastUsedAt: begunAt })
  }

  #fractionMs(fraction: number): number {
    return Math.min(1000, Math.max(10, this.#limit.windowSeconds * 1000 * fraction))
  }

  #scheduleReport(): void {
    if (this.#timer !== undefined || (this.#leases.length === 0 && this.#closed.length === 0)) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#report()
    }, this.#fractionMs(reportFraction)).unref()
  }

  #report(): void {
    const now = this.#options.now()
    this.#closeLeases(({ remaining, heldUntil }) => remaining === 0 || heldUntil <= now)
    if (this.#leasing !== undefined) return
    if (this.#closed.length === 0) {
      this.#scheduleReport()
      return
    }
    this.#leasing = this.#requestLease(0, 0)
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => {
        this.#leasing = undefined
        this.#scheduleReport()
        if (this.#waiting.length > 0) this.#beginLeasing()
      })
  }
}

function describe({ id, used, begunAt, lastUsedAt }: Lease, left: number): LeaseReport {
  return { id, used, left, usedForSeconds: (lastUsedAt - begunAt) / 1000 }
}
