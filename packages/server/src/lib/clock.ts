/** The one source of wall-clock time outside the database; tests plug in their own. */
export interface Clock {
  /** Now. */
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }
