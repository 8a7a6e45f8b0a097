import { listeningMs } from './intervals.ts'

/** Time that a follower allows the leader beyond an interval, for the poll and the message. */
export const graceMs = 150

/** Knowledge of a follower about the polls of the leader. */
export class Coverage {
  #polledAt = Number.NEGATIVE_INFINITY
  #interruptions: number | undefined
  #wasCovered = false

  /** Moment after which the polls of the leader are missing. */
  get endsAt(): number {
    return this.#polledAt + listeningMs + graceMs
  }

  /** Returns true while the leader polls for this worker. */
  has(now: number): boolean {
    return now <= this.endsAt
  }

  /** Forgets the leader. */
  reset(): void {
    this.#polledAt = Number.NEGATIVE_INFINITY
    this.#interruptions = undefined
    this.#wasCovered = false
  }

  /**
   * Notes a poll of the leader. @returns true if the leader has noticed an interruption since its poll before
   */
  note(begunAt: number, interruptions: number): boolean {
    this.#polledAt = Math.max(this.#polledAt, begunAt)
    this.#wasCovered = true
    const before = this.#interruptions
    this.#interruptions = interruptions
    return before !== undefined && before !== interruptions
  }

  /** Returns true once after the polls of the leader have ceased. */
  hasLapsed(now: number): boolean {
    if (!this.#wasCovered || this.has(now)) return false
    this.#wasCovered = false
    return true
  }
}
