import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from 'pino'
import { messageOf } from '../../../lib/errors.ts'

/** Longest time between two looks: for what no notification and no timer announces, such as a row changed by hand. */
const longestMs = 10_000
/** Shortest time between two looks without a wake-up: what is due may be locked by another transaction. */
const shortestMs = 20
/** After a look that failed. */
const retryMs = 500

export interface DueLoopOptions {
  /** What is looked for: `jobs`. */
  readonly what: string
  /** Does what is due; answers in how many milliseconds something else will be, as far as is known. */
  readonly look: () => Promise<number | undefined>
  /** Milliseconds from a wake-up to the look: those that come close together are followed by one. */
  readonly restMs: number
  readonly log: Logger
}

/** Looks for what is due: when woken, and when the next thing will be due. One look at a time. */
export class DueLoop {
  readonly #options: DueLoopOptions
  /** A look belongs neither to the request nor to the job that has woken the loop. */
  readonly #outside = AsyncLocalStorage.snapshot()
  #timer: NodeJS.Timeout | undefined
  #timerAt = 0
  #looking: Promise<void> | undefined
  #isWoken = false
  /** Until the start, too. */
  #isStopped = true
  #isFailing = false

  constructor(options: DueLoopOptions) {
    this.#options = options
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  start(): void {
    this.#isStopped = false
    this.#schedule(0)
  }

  wake(): void {
    if (this.#looking !== undefined) this.#isWoken = true
    else this.#schedule(this.#options.restMs)
  }

  /** Waits for the look in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#looking
  }

  /** A wake-up never postpones a look. */
  #schedule(delayMs: number): void {
    const at = performance.now() + delayMs
    if (this.#isStopped || (this.#timer !== undefined && this.#timerAt <= at)) return
    clearTimeout(this.#timer)
    this.#timerAt = at
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#looking = this.#outside(() => this.#look())
    }, delayMs)
  }

  async #look(): Promise<void> {
    const { what, look, restMs, log } = this.#options
    this.#isWoken = false
    let nextMs: number
    try {
      nextMs = Math.max(shortestMs, Math.min((await look()) ?? longestMs, longestMs))
      this.#isFailing = false
    } catch (error) {
      // Once per outage.
      if (!this.#isFailing) {
        log.warn({ reason: messageOf(error) }, `failed to look for ${what}; retrying every ${retryMs} ms`)
      }
      this.#isFailing = true
      nextMs = retryMs
    }
    this.#looking = undefined
    this.#schedule(this.#isWoken && !this.#isFailing ? restMs : nextMs)
  }
}
