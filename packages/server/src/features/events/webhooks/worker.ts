import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Clock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import { type Claim, claimAttempts, leaseSeconds, releaseClaim, type Sequel, settleAttempt } from './queue.ts'
import { secondsToWait } from './retry-policy.ts'
import type { Send } from './send.ts'

/** Longest time a due attempt waits when the worker was not woken. */
const pollMs = 200
/** Shortest time between two looks: attempts that end close together are followed by one. */
const restMs = 5
/** Attempts in flight on one node. */
const totalConcurrency = 500
/** Between two tries to record an attempt while the database is unavailable. */
const settleAgainMs = 500

export interface DeliveryWorkerOptions {
  readonly database: SystemDatabase
  readonly send: Send
  readonly clock: Clock
  readonly log: Logger
  /** Attempts at one receiver at once. */
  readonly concurrency: number
  readonly pauseAfterHours: number
  /** A webhook was paused. */
  readonly onPause: () => void
}

/** Claims attempts that are due and makes them, each by itself, so that no receiver waits for another. */
export class DeliveryWorker {
  readonly #options: DeliveryWorkerOptions
  readonly #running = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined
  #isWoken = false
  #isStopped = false

  constructor(options: DeliveryWorkerOptions) {
    this.#options = options
  }

  start(): void {
    this.#schedule(0)
  }

  /** Looks for attempts soon. */
  wake(): void {
    if (this.#polling !== undefined) this.#isWoken = true
    else this.#schedule(restMs)
  }

  /** Claims no more, gives attempts in flight the time, then cuts them off; they will be made again. */
  async stop(timeoutMs: number): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#polling
    const timer = setTimeout(() => this.#stopping.abort(), timeoutMs)
    await Promise.all(this.#running)
    clearTimeout(timer)
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer)
    if (this.#isStopped) return
    this.#timer = setTimeout(() => {
      this.#polling = this.#poll()
    }, delayMs)
  }

  async #poll(): Promise<void> {
    const { database, concurrency, log } = this.#options
    let count = 0
    try {
      const total = totalConcurrency - this.#running.size
      const claims = total <= 0 ? [] : await claimAttempts(database, { perReceiver: concurrency, total })
      count = claims.length
      for (const claim of claims) {
        const done: Promise<void> = this.#attempt(claim).finally(() => {
          this.#running.delete(done)
          this.wake()
        })
        this.#running.add(done)
      }
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'cannot look for webhook deliveries')
    }
    this.#polling = undefined
    const isBusy = count > 0 || this.#isWoken
    this.#isWoken = false
    this.#schedule(isBusy ? restMs : pollMs)
  }

  async #attempt(claim: Claim): Promise<void> {
    const { send, clock } = this.#options
    const message = {
      webhookId: claim.webhook_id,
      url: claim.url,
      secret: claim.secret,
      id: claim.event_id,
      body: claim.body,
    }
    const { headers, ...outcome } = await send(message, this.#stopping.signal)
    if (this.#stopping.signal.aborted && !outcome.success) {
      // Cut off by the stop of this node, not by the receiver. Without the database the lease runs out.
      await releaseClaim(this.#options.database, claim).catch(() => undefined)
      return
    }
    const attempt = claim.attempts + 1
    const wait = secondsToWait(attempt, headers['retry-after'], clock.now())
    const sequel: Sequel =
      !outcome.success && outcome.statusCode === 410
        ? { kind: 'pause', reason: 'the receiver answered 410 Gone' }
        : outcome.success || wait === undefined
          ? { kind: 'done' }
          : { kind: 'again', seconds: wait }
    await this.#settle(claim, outcome, sequel)
  }

  /** Keeps trying while the lease lasts; after that another worker has the attempt anyway. */
  async #settle(claim: Claim, outcome: Parameters<typeof settleAttempt>[2], sequel: Sequel): Promise<void> {
    const { database, pauseAfterHours, onPause, log } = this.#options
    const detail = { webhook: claim.webhook_id, event: claim.event_id }
    const giveUpAt = performance.now() + leaseSeconds * 1000
    for (;;) {
      try {
        const isMine = await settleAttempt(database, claim, outcome, sequel, pauseAfterHours)
        if (!isMine)
          log.warn(detail, 'a webhook delivery took longer than its lease; its result does not count')
        if (sequel.kind === 'pause') onPause()
        return
      } catch (error) {
        log.warn({ ...detail, reason: messageOf(error) }, 'cannot record a webhook delivery')
        if (this.#isStopped || performance.now() > giveUpAt) return
        await new Promise((resolve) => setTimeout(resolve, settleAgainMs))
      }
    }
  }
}
