import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from 'pino'
import { messageOf } from '../../../lib/errors.ts'

/**
 * Maximum milliseconds between two polls, for rows that no notification and no timer announces, such as a row changed
 * by hand.
 */
const longestMs = 10_000
/** Minimum milliseconds between two polls without a wake-up. A due row may be locked by another transaction. */
const shortestMs = 20
/** Milliseconds before the next poll after one that failed. */
const retryMs = 500

export interface DueLoopOptions {
  /** Name of the rows for the log, such as `jobs`. */
  readonly name: string
  /** Works on due rows. Returns the milliseconds until more will be due, if known. */
  readonly poll: () => Promise<number | undefined>
  /** Milliseconds from a wake-up to the poll. Wake-ups within this time share one poll. */
  readonly wakeDelayMs: number
  /** Returns true in the process that polls for rows changed by hand, for all workers of a machine. */
  readonly isLeading: () => boolean
  readonly log: Logger
}

/** Loop that polls for due rows: when woken, and when the next row is due. It runs one poll at a time. */
export class DueLoop {
  readonly #options: DueLoopOptions
  /** Context of the loop itself. A poll belongs neither to the request nor to the job that woke the loop. */
  readonly #outside = AsyncLocalStorage.snapshot()
  #timer: NodeJS.Timeout | undefined
  #timerAt = 0
  /** True if the scheduled poll is made only by the leader. */
  #isTimerForLeader = false
  /** Time at which the next known row is due. */
  #dueAt = 0
  #polling: Promise<void> | undefined
  #isWoken = false
  /** True before the start too. */
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
    if (this.#polling !== undefined) this.#isWoken = true
    else this.#schedule(this.#options.wakeDelayMs)
  }

  /** Stops the loop after the poll in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#polling
  }

  /** Schedules a poll. A wake-up never postpones a poll that is scheduled earlier. */
  #schedule(delayMs: number, isForLeader = false): void {
    const at = performance.now() + delayMs
    const isCertain = isForLeader || !this.#isTimerForLeader
    if (this.#isStopped || (this.#timer !== undefined && this.#timerAt <= at && isCertain)) return
    clearTimeout(this.#timer)
    this.#timerAt = at
    this.#isTimerForLeader = isForLeader
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (isForLeader && !this.#options.isLeading()) {
        this.#scheduleDue()
        return
      }
      this.#polling = this.#outside(() => this.#poll())
    }, delayMs)
  }

  /** Schedules the poll of the next due row, or the next one for rows changed by hand. */
  #scheduleDue(): void {
    const delayMs = this.#dueAt - performance.now()
    if (delayMs <= longestMs) this.#schedule(delayMs)
    else this.#schedule(longestMs, true)
  }

  async #poll(): Promise<void> {
    const { name, poll, wakeDelayMs, log } = this.#options
    this.#isWoken = false
    let nextMs: number
    try {
      nextMs = Math.max(shortestMs, (await poll()) ?? Number.POSITIVE_INFINITY)
      this.#isFailing = false
    } catch (error) {
      // The failure is logged once per outage.
      if (!this.#isFailing) {
        log.warn({ reason: messageOf(error) }, `failed to poll ${name}; retrying every ${retryMs} ms`)
      }
      this.#isFailing = true
      nextMs = retryMs
    }
    this.#polling = undefined
    this.#dueAt = performance.now() + nextMs
    if (this.#isWoken && !this.#isFailing) this.#schedule(wakeDelayMs)
    else this.#scheduleDue()
  }
}
