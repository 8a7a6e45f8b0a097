/** Minimum duration of a sample, in milliseconds. */
const sampleMs = 250
/** Minimum number of entries in a sample. */
const sampleEntries = 8
/** Number of samples of which the quickest counts. During the others the queue may have waited for a lock. */
const sampleLimit = 8
/**
 * Minimum number of samples for a rate. Those of the first second may be of a process that has just started.
 */
const fewestSamples = 4

/**
 * Service rate of a queue that is never empty. It is unknown before the first samples, so a queue that waits
 * for a lock rejects no entry.
 */
export class DrainRate {
  readonly #samples: number[] = []
  #startedAt: number | undefined
  #entries = 0
  #entryMs: number | undefined

  /** Counts an entry that is served. @param now as of `performance.now()` */
  count(now: number): void {
    // The time before the first entry may not be service time.
    this.#startedAt ??= now
    const spent = now - this.#startedAt
    if (spent >= sampleMs && this.#entries >= sampleEntries) {
      this.#samples.push(spent / this.#entries)
      if (this.#samples.length > sampleLimit) this.#samples.shift()
      if (this.#samples.length >= fewestSamples) this.#entryMs = Math.min(...this.#samples)
      this.#startedAt = now
      this.#entries = 0
    }
    this.#entries += 1
  }

  /** Returns the milliseconds that so many entries take; undefined while that is unknown. */
  timeFor(entries: number): number | undefined {
    return this.#entryMs === undefined ? undefined : this.#entryMs * entries
  }
}
