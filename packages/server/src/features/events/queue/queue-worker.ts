import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { inBackground } from '../../../database/pool/background.ts'
import { messageOf } from '../../../lib/errors.ts'
import { DueLoop } from './due-loop.ts'

/** Milliseconds between two tries to record an attempt while the database is unavailable. */
const retryMs = 500
/** Milliseconds that attempts have to end once their signal is aborted. */
const abortGraceMs = 2000

/** Result of one poll of the queue. */
export interface Claims<Claim> {
  readonly claims: readonly Claim[]
  /** Milliseconds until more rows will be due, if known. */
  readonly nextMs: number | undefined
}

/** Operations on a queue in a table, whose rows have a time, a lease and a fencing token. */
export interface QueueWorkerOptions<Claim, Outcome> {
  /** Name of the rows for the log, such as `jobs`. */
  readonly name: string
  readonly leaseSeconds: number
  /** Milliseconds from a wake-up to the poll of the queue. */
  readonly wakeDelayMs: number
  /** Returns true in the process that polls for rows changed by hand, for all workers of a machine. */
  readonly isLeading: () => boolean
  /** Claims due rows, as many as there is capacity for beside those in flight. */
  readonly claim: (inFlight: ReadonlySet<Claim>) => Promise<Claims<Claim>>
  /** Makes an attempt. Returns undefined if the signal cut it off; the claim is then released. Never rejects. */
  readonly perform: (claim: Claim, signal: AbortSignal) => Promise<Outcome | undefined>
  /** Records an attempt. Returns false if its claim is no longer the latest. */
  readonly settle: (claim: Claim, outcome: Outcome) => Promise<boolean>
  /** Makes the row due again as if it had not been claimed. */
  readonly release: (claim: Claim) => Promise<unknown>
  /** Extends the leases, for attempts that take longer than one lease. */
  readonly renew?: (claims: readonly Claim[]) => Promise<unknown>
  /** Returns the log fields of a claim. */
  readonly describe: (claim: Claim) => object
  readonly log: Logger
}

/**
 * Worker that makes attempts at due rows and records each attempt as soon as it ends. When a lease expires, another
 * worker claims the row. A completion of this worker names its claim and is then rejected.
 */
export class QueueWorker<Claim, Outcome> {
  readonly #options: QueueWorkerOptions<Claim, Outcome>
  readonly #loop: DueLoop
  readonly #inFlight = new Map<Claim, Promise<void>>()
  readonly #stopping = new AbortController()
  #renewal: NodeJS.Timeout | undefined

  constructor(options: QueueWorkerOptions<Claim, Outcome>) {
    this.#options = options
    const { name, wakeDelayMs, isLeading, log } = options
    this.#loop = new DueLoop({ name, wakeDelayMs, isLeading, log, poll: () => this.#poll() })
  }

  start(): void {
    const { renew, leaseSeconds } = this.#options
    this.#loop.start()
    if (renew === undefined) return
    // The next renewal makes up for one that fails.
    this.#renewal = setInterval(
      () => {
        if (this.#inFlight.size > 0) void renew([...this.#inFlight.keys()]).catch(() => undefined)
      },
      (leaseSeconds * 1000) / 3,
    )
  }

  /** Polls the queue at once. */
  wake(): void {
    this.#loop.wake()
  }

  /**
   * Stops claiming and waits for attempts in flight. Then aborts those that take longer, and releases those still in
   * flight.
   */
  async stop(timeoutMs: number): Promise<void> {
    await this.#loop.stop()
    if (!(await this.#drain(timeoutMs))) {
      this.#stopping.abort(new Error('the server stops'))
      if (!(await this.#drain(abortGraceMs))) await Promise.all([...this.#inFlight.keys()].map(this.#release))
    }
    clearInterval(this.#renewal)
  }

  async #poll(): Promise<number | undefined> {
    const { claims, nextMs } = await this.#options.claim(new Set(this.#inFlight.keys()))
    for (const claim of claims) {
      const done = this.#attempt(claim).finally(() => {
        this.#inFlight.delete(claim)
        this.#loop.wake()
      })
      this.#inFlight.set(claim, done)
    }
    return nextMs
  }

  /** Waits for everything in flight. Returns false if the time runs out first. */
  async #drain(timeoutMs: number): Promise<boolean> {
    const timer = new AbortController()
    const isDrained = await Promise.race([
      Promise.all(this.#inFlight.values()).then(() => true),
      delay(timeoutMs, false, { signal: timer.signal }).catch(() => false),
    ])
    timer.abort()
    return isDrained
  }

  async #attempt(claim: Claim): Promise<void> {
    const { perform } = this.#options
    const outcome = await inBackground(() => perform(claim, this.#stopping.signal))
    if (outcome === undefined) await this.#release(claim)
    else await this.#settle(claim, outcome)
  }

  /** Records an attempt, with retries while the lease lasts. After that the row belongs to another worker. */
  async #settle(claim: Claim, outcome: Outcome): Promise<void> {
    const { name, settle, leaseSeconds, describe, log } = this.#options
    const expiresAt = performance.now() + leaseSeconds * 1000
    for (;;) {
      try {
        const isLatest = await settle(claim, outcome)
        if (!isLatest)
          log.warn(
            describe(claim),
            `rejected a stale completion of ${name}: the lease ran out, or the row was removed`,
          )
        return
      } catch (error) {
        const detail = { ...describe(claim), reason: messageOf(error) }
        const isLast = this.#loop.isStopped || performance.now() > expiresAt
        const next = isLast ? 'the lease will run out' : `retrying in ${retryMs} ms`
        log.warn(detail, `failed to record an attempt of ${name}; ${next}`)
        if (isLast) return
        await delay(retryMs)
      }
    }
  }

  readonly #release = async (claim: Claim): Promise<void> => {
    const { name, release, describe, log } = this.#options
    log.info(describe(claim), `releasing an attempt of ${name} to the queue: it was cut off`)
    await release(claim).catch((error) =>
      log.warn(
        { ...describe(claim), reason: messageOf(error) },
        `failed to release an attempt of ${name}; the lease will run out`,
      ),
    )
  }
}
