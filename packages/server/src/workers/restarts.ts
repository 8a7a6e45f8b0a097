/** Time after which a worker counts as well: its end is then no part of a loop. */
export const steadyMs = 30_000
const firstDelayMs = 100
const longestDelayMs = 30_000
/** Number of ends in a row that are a loop. */
const loopLength = 5

export interface WorkerEnd {
  /** Time since the worker was started. */
  readonly livedMs: number
  /** True if it is worth waiting: the start was refused, for example by the database, and other workers serve. */
  readonly isWaiting: boolean
}

/** Decides when the worker of a slot is replaced. */
export class Restarts {
  #ends = 0
  #crashes = 0

  /** Returns the milliseconds before the next start; undefined after a loop of crashes. */
  next({ livedMs, isWaiting }: WorkerEnd): number | undefined {
    if (livedMs >= steadyMs) this.#ends = this.#crashes = 0
    this.#ends += 1
    if (!isWaiting) this.#crashes += 1
    if (this.#crashes >= loopLength) return undefined
    if (this.#ends === 1) return firstDelayMs
    return Math.min(1000 * 2 ** (this.#ends - 2), longestDelayMs)
  }
}
