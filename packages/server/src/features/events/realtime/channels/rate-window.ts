const windowMs = 1000

/** How often something may happen in a second. */
export class RateWindow {
  readonly #limit: number
  #beganAt = Number.NEGATIVE_INFINITY
  #count = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Whether it may happen once more. @param now milliseconds of a clock that only goes forward */
  take(now: number): boolean {
    if (now - this.#beganAt >= windowMs) {
      this.#beganAt = now
      this.#count = 0
    }
    this.#count += 1
    return this.#count <= this.#limit
  }
}
