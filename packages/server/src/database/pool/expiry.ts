import { PoolExhausted } from '../errors/failures.ts'
import type { WaitingLimits } from './admission.ts'
import type { SubjectQueue, WaitingEntry } from './subject-queue.ts'

/** Checks per acquire timeout. */
const checksPerTimeout = 10
const longestPauseMs = 500

/**
 * Expiry of queue entries. It fails entries that have waited for the acquire timeout, or would. One timer
 * serves all of them: its walk over the queue costs less than a timer per entry.
 */
export class Expiry<Entry extends WaitingEntry> {
  readonly #queue: SubjectQueue<Entry>
  readonly #timeoutMs: number
  readonly #fail: (entry: Entry, error: PoolExhausted) => void
  readonly #pauseMs: number
  readonly #onCheck: () => void
  #timer: NodeJS.Timeout | undefined

  /** @param onCheck called after each walk */
  constructor(
    queue: SubjectQueue<Entry>,
    { acquireTimeoutMs }: WaitingLimits,
    { fail, onCheck }: { fail: (entry: Entry, error: PoolExhausted) => void; onCheck: () => void },
  ) {
    this.#queue = queue
    this.#timeoutMs = acquireTimeoutMs
    this.#fail = fail
    this.#onCheck = onCheck
    this.#pauseMs = Math.min(acquireTimeoutMs / checksPerTimeout, longestPauseMs)
  }

  /** Starts the checks, which run while entries wait. */
  start(): void {
    if (this.#timer !== undefined || this.#queue.length === 0) return
    this.#timer = setTimeout(() => this.#check(), this.#pauseMs)
  }

  /** Returns true if the time of an entry is over. @param now as of `performance.now()` */
  isLate({ since }: WaitingEntry, now: number): boolean {
    return now - since >= this.#timeoutMs
  }

  /** Returns the error of an entry that cannot wait any longer. */
  errorOf(entry: WaitingEntry, now: number): PoolExhausted {
    const when = this.isLate(entry, now) ? 'became' : 'would become'
    return new PoolExhausted(
      `no database connection ${when} free in time`,
      this.#queue.expectedWaitMs(entry.subject),
    )
  }

  #check(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const entry of this.#queue.removeOverdue(now, this.#timeoutMs)) {
      this.#fail(entry, this.errorOf(entry, now))
    }
    this.#onCheck()
    this.start()
  }
}
