/** Number of samples whose largest is the demand: at least these, at most twice as many. */
const windowSamples = 50
/** Number of samples in a row that must show a demand. Shorter bursts do not cost others their connections. */
const sustainedSamples = 2

/**
 * Demand of a worker for connections, from samples of what its work could use. It rises as soon as a need lasts, and
 * falls seconds later, because connections that change hands are opened anew.
 */
export class ConnectionDemand {
  #latest: number[] = []
  #peak = 0
  #peakBefore = 0
  #count = 0

  /** True once there are enough samples. */
  get isKnown(): boolean {
    return this.#latest.length >= sustainedSamples
  }

  /** Adds a sample. @returns the demand */
  add(wanted: number): number {
    this.#latest = [...this.#latest, wanted].slice(-sustainedSamples)
    const sustained = this.isKnown ? Math.min(...this.#latest) : 0
    this.#peak = Math.max(this.#peak, sustained)
    const demand = Math.max(this.#peak, this.#peakBefore)
    this.#count += 1
    if (this.#count % windowSamples === 0) {
      this.#peakBefore = this.#peak
      this.#peak = 0
    }
    return demand
  }
}
