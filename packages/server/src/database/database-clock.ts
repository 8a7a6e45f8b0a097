import { type Clock, systemClock } from '../lib/clock.ts'
import { sql } from './sql.ts'
import type { Queryable } from './system-database.ts'

/**
 * Difference below which the machine's clock is used. The measurement includes the network to the database and
 * back.
 */
const toleratedMs = 1000

/** Measurement of the database's clock. */
export interface ClockMeasurement {
  /** Difference from the machine's clock. */
  readonly differenceMs: number
  /** Duration of the query. */
  readonly tookMs: number
}

/**
 * Clock of the database, which all nodes share. It adds the last measured difference to the machine's own
 * clock. Dates and decisions of a node are then right on a machine with a wrong clock.
 */
export class DatabaseClock implements Clock {
  #differenceMs = 0

  now(): Date {
    return new Date(systemClock.now().getTime() + this.#differenceMs)
  }

  /** Adjusts the clock by a measurement of this machine. */
  adjust({ differenceMs, tookMs }: ClockMeasurement): void {
    if (Math.abs(differenceMs - this.#differenceMs) <= toleratedMs + tookMs / 2) return
    this.#differenceMs = Math.abs(differenceMs) <= toleratedMs ? 0 : differenceMs
  }
}

/**
 * Measures the clock of the database.
 *
 * @param readMs time of the database's clock, in milliseconds since 1970
 * @param tookMs duration of the query that has just returned
 */
export function measureClock(readMs: number, tookMs: number): ClockMeasurement {
  return { differenceMs: readMs - (systemClock.now().getTime() - tookMs / 2), tookMs }
}

/** Opens a clock that is right from its first use. */
export async function openDatabaseClock(database: Pick<Queryable, 'one'>): Promise<DatabaseClock> {
  const clock = new DatabaseClock()
  const startedAt = performance.now()
  const read = await readDatabaseTime(database)
  clock.adjust(measureClock(read.getTime(), performance.now() - startedAt))
  return clock
}

/** Reads the clock of the database. */
export async function readDatabaseTime(database: Pick<Queryable, 'one'>): Promise<Date> {
  return (await database.one<{ now: Date }>(sql`select clock_timestamp() as now`)).now
}
