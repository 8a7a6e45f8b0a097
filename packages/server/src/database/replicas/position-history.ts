import type { LogPosition } from './log-position.ts'

interface Sample {
  at: number
  readonly position: LogPosition
}

/**
 * Positions of the primary over time. They show how old the data of a replica is, without comparing the clocks of two
 * machines, and also while the primary is idle.
 */
export class PositionHistory {
  readonly #maxAgeMs: number
  #samples: Sample[] = []

  /** @param maxAgeMs age beyond which samples are dropped */
  constructor(maxAgeMs: number) {
    this.#maxAgeMs = maxAgeMs
  }

  /** Adds a sample. @param at time before the position was read */
  add(position: LogPosition, at: number): void {
    const last = this.#samples.at(-1)
    // After a failover the log of the new primary may be shorter, and says nothing about the old one.
    if (last !== undefined && position < last.position) this.#samples = []
    if (last?.position === position) last.at = at
    else this.#samples.push({ at, position })
    const first = this.#samples.findIndex((sample) => at - sample.at <= this.#maxAgeMs)
    if (first > 0) this.#samples.splice(0, first)
  }

  /** Returns the milliseconds since the data at the position was complete; Infinity if unknown. */
  ageOf(position: LogPosition, now: number): number {
    const sample = this.#samples.findLast((each) => each.position <= position)
    return sample === undefined ? Number.POSITIVE_INFINITY : Math.max(0, now - sample.at)
  }
}
