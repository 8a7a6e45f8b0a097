/** A source of wall-clock time outside the database: a server's is adjusted to that of the database; tests plug in their own. */
export interface Clock {
  /** Now. */
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }
