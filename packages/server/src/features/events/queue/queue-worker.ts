import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { inBackground } from '../../../database/pool/background.ts'
import { messageOf } from '../../../lib/errors.ts'
import { DueLoop } from './due-loop.ts'

/** Between two tries to record an attempt while the database is unavailable. */
const retryMs = 500
/** Time that attempts have to end once their signal is aborted. */
const abortGraceMs = 2000

/** What a look at the queue found. */
export interface Claims<Claim> {
  readonly claims: readonly Claim[]
  /** Milliseconds until more will be due, as far as is known. */
  readonly nextMs: number | undefined
}

/** A queue in a table: rows with a time, a lease and a fencing token. */
export interface QueueWorkerOptions<Claim, Outcome> {
  /** What the rows are, for the log: `jobs`. */
  readonly what: string
  readonly leaseSeconds: number
  /** Milliseconds from a wake-up to the look at the queue. */
  readonly restMs: number
  /** Claims rows that are due, as many as there is capacity for beside those that are in flight. */
  readonly claim: (inFlight: ReadonlySet<Claim>) => Promise<Claims<Claim>>
  /** Makes an attempt. Undefined when it was cut off by the signal: the claim is given back. Never rejects. */
  readonly perform: (claim: Claim, signal: AbortSignal) => Promise<Outcome | undefined>
  /** Records an attempt; false when its claim is no longer the latest. */
  readonly settle: (claim: Claim, outcome: Outcome) => Promise<boolean>
  /** Makes the row due as if it had not been claimed. */
  readonly release: (claim: Claim) => Promise<unknown>
  /** Extends the leases, for attempts that take longer than one. */
  readonly renew?: (claims: readonly Claim[]) => Promise<unknown>
  /** For the log. */
  readonly describe: (claim: Claim) => object
  readonly log: Logger
}

/**
 * Makes attempts at what is due in a queue, each recorded by itself as soon as it ends. When a lease runs out, another
 * worker claims the row, and a completion by this one is rejected, because it names its claim.
 */
export class QueueWorker<Claim, Outcome> {
  readonly #options: QueueWorkerOptions<Claim, Outcome>
  readonly #loop: DueLoop
  readonly #inFlight = new Map<Claim, Promise<void>>()
  readonly #stopping = new AbortController()
  #renewal: NodeJS.Timeout | undefined

  constructor(options: QueueWorkerOptions<Claim, Outcome>) {
    this.#options = options
    const { what, restMs, log } = options
    this.#loop = new DueLoop({ what, restMs, log, look: () => this.#look() })
  }

  start(): void {
    const { renew, leaseSeconds } = this.#options
    this.#loop.start()
    if (renew === undefined) return
    // A renewal that fails is made up for by the next one.
    this.#renewal = setInterval(
      () => {
        if (this.#inFlight.size > 0) void renew([...this.#inFlight.keys()]).catch(() => undefined)
      },
      (leaseSeconds * 1000) / 3,
    )
  }

  /** Looks at the queue at once. */
  wake(): void {
    this.#loop.wake()
  }

  /** Claims no more, waits for attempts in flight, aborts those that take longer, and gives back what does not end. */
  async stop(timeoutMs: number): Promise<void> {
    await this.#loop.stop()
    if (!(await this.#drain(timeoutMs))) {
      this.#stopping.abort(new Error('the server stops'))
      if (!(await this.#drain(abortGraceMs))) await Promise.all([...this.#inFlight.keys()].map(this.#release))
    }
    clearInterval(this.#renewal)
  }

  async #look(): Promise<number | undefined> {
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

  /** Whether everything in flight ended in time. */
  async #drain(timeoutMs: number): Promise<boolean> {
    const late = new AbortController()
    const isDrained = await Promise.race([
      Promise.all(this.#inFlight.values()).then(() => true),
      delay(timeoutMs, false, { signal: late.signal }).catch(() => false),
    ])
    late.abort()
    return isDrained
  }

  async #attempt(claim: Claim): Promise<void> {
    const { perform } = this.#options
    const outcome = await inBackground(() => perform(claim, this.#stopping.signal))
    if (outcome === undefined) await this.#release(claim)
    else await this.#settle(claim, outcome)
  }

  /** Retries while the lease lasts; after that the row is another worker's. */
  async #settle(claim: Claim, outcome: Outcome): Promise<void> {
    const { what, settle, leaseSeconds, describe, log } = this.#options
    const expiresAt = performance.now() + leaseSeconds * 1000
    for (;;) {
      try {
        const isLatest = await settle(claim, outcome)
        if (!isLatest)
          log.warn(
            describe(claim),
            `rejected a stale completion of ${what}: the lease ran out, or the row was removed`,
          )
        return
      } catch (error) {
        const detail = { ...describe(claim), reason: messageOf(error) }
        const isLast = this.#loop.isStopped || performance.now() > expiresAt
        const next = isLast ? 'the lease will run out' : `retrying in ${retryMs} ms`
        log.warn(detail, `failed to record an attempt of ${what}; ${next}`)
        if (isLast) return
        await delay(retryMs)
      }
    }
  }

  readonly #release = async (claim: Claim): Promise<void> => {
    const { what, release, describe, log } = this.#options
    log.info(describe(claim), `the server stops: an attempt of ${what} goes back to the queue`)
    await release(claim).catch((error) =>
      log.warn(
        { ...describe(claim), reason: messageOf(error) },
        `failed to give back an attempt of ${what}; the lease will run out`,
      ),
    )
  }
}
