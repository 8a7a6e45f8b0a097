import { type Clock, systemClock } from '../lib/clock.ts'
import { sql } from './sql.ts'
import type { Queryable } from './system-database.ts'

/** Closer than this the machine's clock is taken as it is: what is measured contains the way to the database and back. */
const toleratedMs = 1000

/**
 * The clock of the database, which all nodes share, by the machine's own and the difference that was measured last. What a
 * node dates or judges is then right on a machine whose clock is wrong.
 */
export class DatabaseClock implements Clock {
  #differenceMs = 0

  now(): Date {
    return new Date(systemClock.now().getTime() + this.#differenceMs)
  }

  /**
   * @param readMs what the database's clock said, in milliseconds since 1970
   * @param tookMs how long the answer took that has just arrived
   */
  adjust(readMs: number, tookMs: number): void {
    const measuredMs = readMs - (systemClock.now().getTime() - tookMs / 2)
    if (Math.abs(measuredMs - this.#differenceMs) <= toleratedMs + tookMs / 2) return
    this.#differenceMs = Math.abs(measuredMs) <= toleratedMs ? 0 : measuredMs
  }
}

/** A clock that is right from the start. */
export async function openDatabaseClock(database: Pick<Queryable, 'one'>): Promise<DatabaseClock> {
  const clock = new DatabaseClock()
  const askedAt = performance.now()
  const read = await readDatabaseTime(database)
  clock.adjust(read.getTime(), performance.now() - askedAt)
  return clock
}

/** What the clock of the database says. */
export async function readDatabaseTime(database: Pick<Queryable, 'one'>): Promise<Date> {
  return (await database.one<{ now: Date }>(sql`select clock_timestamp() as now`)).now
}
