import { type Clock, systemClock } from '../lib/clock.ts'
import { sql } from './sql.ts'
import type { Queryable } from './system-database.ts'

/**
 * Difference below which the machine's clock is used. The measurement includes the network to the database and
 * back.
 */
const toleratedMs = 1000

/**
 * Clock of the database, which all nodes share. It adds the last measured difference to the machine's own
 * clock. Dates and decisions of a node are then right on a machine with a wrong clock.
 */
export class DatabaseClock implements Clock {
  #differenceMs = 0

  now(): Date {
    return new Date(systemClock.now().getTime() + this.#differenceMs)
  }

  /**
   * Adjusts the clock by a measurement.
   *
   * @param readMs time of the database's clock, in milliseconds since 1970
   * @param tookMs duration of the query that has just returned
   */
  adjust(readMs: number, tookMs: number): void {
    const measuredMs = readMs - (systemClock.now().getTime() - tookMs / 2)
    if (Math.abs(measuredMs - this.#differenceMs) <= toleratedMs + tookMs / 2) return
    this.#differenceMs = Math.abs(measuredMs) <= toleratedMs ? 0 : measuredMs
  }
}

/** Opens a clock that is right from its first use. */
export async function openDatabaseClock(database: Pick<Queryable, 'one'>): Promise<DatabaseClock> {
  const clock = new DatabaseClock()
  const startedAt = performance.now()
  const read = await readDatabaseTime(database)
  clock.adjust(read.getTime(), performance.now() - startedAt)
  return clock
}

/** Reads the clock of the database. */
export async function readDatabaseTime(database: Pick<Queryable, 'one'>): Promise<Date> {
  return (await database.one<{ now: Date }>(sql`select clock_timestamp() as now`)).now
}
