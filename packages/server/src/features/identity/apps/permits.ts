import type { AppLimit } from '../../../http/access/identity.ts'
import { LinkedQueue } from '../../../lib/linked-queue.ts'

/** What the database answered to a request for permits. */
export interface LeaseAnswer {
  /** Undefined when the app is no longer limited. */
  readonly granted: number | undefined
  /** Until one more may be granted, when fewer were than wanted. */
  readonly retryAfterMs: number | undefined
}

/** What a node reports of a lease. */
export interface LeaseReport {
  readonly id: string
  readonly used: number
  /** Permits it may still use. */
  readonly left: number
  /** From before the lease was asked for until the last permit was used. */
  readonly usedForSeconds: number
}

export interface LeaseRequest {
  readonly id: string
  /** Requests that wait. */
  readonly wanted: number
  /** Permits to have ahead of requests. */
  readonly moreWanted: number
  readonly reports: readonly LeaseReport[]
}

export interface PermitsOptions {
  readonly limit: AppLimit
  readonly newId: () => string
  readonly now: () => number
  readonly lease: (request: LeaseRequest) => Promise<LeaseAnswer>
}

/** Undefined: the request may pass. */
export type Refusal = { readonly retryAfterMs: number } | undefined

/** The database counts permits as used until then: this node uses none later. */
export const leaseSeconds = 2
/** Permits that no request has used within so much of a window go back, at the latest after a second. */
const heldShare = 0.02
/** After a refusal the database is asked again at the latest after so much of a window, or a second. */
const askAgainShare = 0.02
/** Used permits are reported within so much of a window: only then do they count from when they were used. */
const reportShare = 0.25

interface Lease {
  readonly id: string
  /** Before it was asked for, and so before the database began to count it. */
  readonly begunAt: number
  readonly heldUntil: number
  remaining: number
  used: number
  lastUsedAt: number
}

interface Waiting {
  readonly resolve: (refusal: Refusal) => void
  readonly reject: (error: unknown) => void
}

/**
 * The permits of one app on this node. Requests take them from memory; they come from the database in leases, which are
 * asked for before the last one is used up.
 */
export class Permits {
  readonly #options: PermitsOptions
  #limit: AppLimit
  #leases: Lease[] = []
  #closed: LeaseReport[] = []
  readonly #waiting = new LinkedQueue<Waiting>()
  /** How many permits the last lease brought ahead of requests. */
  #ahead = 0
  #refusedUntil = Number.NEGATIVE_INFINITY
  #retryAt = 0
  /** No permits ahead of requests are asked for before. */
  #aheadAt = Number.NEGATIVE_INFINITY
  #leasing: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: PermitsOptions) {
    this.#options = options
    this.#limit = options.limit
  }

  /** Whether nothing would be lost with it. */
  get isIdle(): boolean {
    const isEmpty = this.#leases.length === 0 && this.#closed.length === 0 && this.#waiting.length === 0
    return isEmpty && this.#leasing === undefined && this.#options.now() >= this.#refusedUntil
  }

  take(limit: AppLimit): Refusal | Promise<Refusal> {
    this.#limit = limit
    const now = this.#options.now()
    if (this.#use(now)) {
      if (this.#remaining * 2 <= this.#ahead && now >= this.#aheadAt) this.#beginLeasing()
      return undefined
    }
    if (now < this.#refusedUntil) return this.#refusal(now)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#beginLeasing()
    })
  }

  /** Gives everything back. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#leasing?.catch(() => undefined)
    this.#closeLeases(() => true)
    if (this.#closed.length > 0) await this.#ask(0, 0)
    clearTimeout(this.#timer)
  }

  get #remaining(): number {
    return this.#leases.reduce((sum, { remaining }) => sum + remaining, 0)
  }

  #use(now: number): boolean {
    this.#closeLeases(({ remaining, heldUntil }) => remaining === 0 || heldUntil <= now)
    const [lease] = this.#leases
    if (lease === undefined) return false
    lease.remaining -= 1
    lease.used += 1
    lease.lastUsedAt = now
    return true
  }

  #closeLeases(isOver: (lease: Lease) => boolean): void {
    if (!this.#leases.some(isOver)) return
    for (const lease of this.#leases.filter(isOver)) this.#closed.push(describe(lease, 0))
    this.#leases = this.#leases.filter((lease) => !isOver(lease))
  }

  #refusal(now: number): Refusal {
    return { retryAfterMs: Math.min(Math.max(0, this.#retryAt - now), this.#limit.windowSeconds * 1000) }
  }

  /** One request for permits at a time: those that come meanwhile go together with the next one. */
  #beginLeasing(): void {
    this.#leasing ??= this.#leaseWhileWanted()
      .catch((error) => {
        for (const { reject } of this.#waiting.take()) reject(error)
      })
      .finally(() => {
        this.#leasing = undefined
        this.#scheduleReport()
        if (this.#waiting.length > 0) this.#beginLeasing()
      })
  }

  async #leaseWhileWanted(): Promise<void> {
    do {
      // Requests that arrive in the same turn share a lease.
      await Promise.resolve()
      const wanted = this.#waiting.length
      const answer = await this.#ask(wanted, this.#limit.requests)
      const now = this.#options.now()
      if (answer.granted === undefined) {
        for (const { resolve } of this.#waiting.take()) resolve(undefined)
        return
      }
      this.#ahead = Math.max(0, answer.granted - wanted)
      if (this.#ahead === 0) this.#aheadAt = now + this.#shareMs(askAgainShare)
      this.#serve(now)
      if (answer.retryAfterMs !== undefined) this.#refuse(now, answer.retryAfterMs)
    } while (this.#waiting.length > 0)
  }

  #serve(now: number): void {
    while (this.#waiting.length > 0 && this.#use(now)) this.#waiting.shift()?.resolve(undefined)
  }

  #refuse(now: number, retryAfterMs: number): void {
    this.#retryAt = now + retryAfterMs
    // Other nodes may give permits back meanwhile.
    this.#refusedUntil = now + Math.min(retryAfterMs, this.#shareMs(askAgainShare))
    for (const { resolve } of this.#waiting.take()) resolve(this.#refusal(now))
  }

  async #ask(wanted: number, moreWanted: number): Promise<LeaseAnswer> {
    const { newId, now, lease } = this.#options
    const id = newId()
    const begunAt = now()
    this.#closeLeases(({ remaining, heldUntil }) => remaining === 0 || heldUntil <= begunAt)
    const closed = this.#closed
    this.#closed = []
    const reports = [...closed, ...this.#leases.map((open) => describe(open, open.remaining))]
    try {
      const answer = await lease({ id, wanted, moreWanted, reports })
      if ((answer.granted ?? 0) > 0) this.#open(id, begunAt, answer.granted ?? 0)
      return answer
    } catch (error) {
      // It may have been granted all the same.
      this.#closed.push(...closed, { id, used: 0, left: 0, usedForSeconds: 0 })
      throw error
    }
  }

  #open(id: string, begunAt: number, granted: number): void {
    const heldMs = Math.max(50, this.#shareMs(heldShare))
    const now = this.#options.now()
    const isLate = now - begunAt >= leaseSeconds * 1000
    // Waiting requests use theirs at once, however long the answer took, as long as the lease lasts.
    const heldUntil = isLate ? now : Math.min(now + heldMs, begunAt + leaseSeconds * 1000)
    this.#leases.push({ id, begunAt, heldUntil, remaining: granted, used: 0, lastUsedAt: begunAt })
  }

  #shareMs(share: number): number {
    return Math.min(1000, Math.max(10, this.#limit.windowSeconds * 1000 * share))
  }

  #scheduleReport(): void {
    if (this.#timer !== undefined || (this.#leases.length === 0 && this.#closed.length === 0)) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#report()
    }, this.#shareMs(reportShare)).unref()
  }

  #report(): void {
    const now = this.#options.now()
    this.#closeLeases(({ remaining, heldUntil }) => remaining === 0 || heldUntil <= now)
    if (this.#leasing !== undefined) return
    if (this.#closed.length === 0) {
      this.#scheduleReport()
      return
    }
    this.#leasing = this.#ask(0, 0)
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
