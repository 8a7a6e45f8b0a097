/**
 * Source of wall-clock time outside the database. A server's clock is adjusted to that of the database; tests
 * inject their own.
 */
export interface Clock {
  /** Returns the current time. */
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }
