/** Shortest time of a sample, in milliseconds. */
const sampleMs = 250
/** Fewest entries of a sample. */
const sampleEntries = 8
/** Samples of which the quickest counts: in the others the queue may have waited for a lock. */
const sampleLimit = 8
/** Samples that a rate is based on at least: those of the first second may be of a process that has just begun. */
const fewestSamples = 4

/**
 * Measures how fast a queue that never gets empty is served. It says nothing before the first samples, so a queue that
 * waits for a lock refuses no entry.
 */
export class DrainRate {
  readonly #samples: number[] = []
  #startedAt: number | undefined
  #entries = 0
  #entryMs: number | undefined

  /** Counts an entry that is served. @param now as of `performance.now()` */
  count(now: number): void {
    // The time before the first entry is not known to be one of service.
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

  /** Returns the milliseconds that so many entries take; undefined while that is not known. */
  timeFor(entries: number): number | undefined {
    return this.#entryMs === undefined ? undefined : this.#entryMs * entries
  }
}
