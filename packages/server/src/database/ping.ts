import { whenLate } from '../lib/timer.ts'
import { sql } from './sql.ts'
import type { Queryable } from './system-database.ts'

/** Maximum response time of a healthy database. */
const answerMs = 2000

/** Returns true if the database responds within two seconds. */
export async function ping(database: Pick<Queryable, 'count'>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const cancel = whenLate(answerMs, () => resolve(false))
  database.count(sql`select 1`).then(
    () => resolve(true),
    () => resolve(false),
  )
  return await promise.finally(cancel)
}
