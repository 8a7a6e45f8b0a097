import { sql } from './sql.ts'
import type { Queryable } from './system-database.ts'

/** Longest time a database that is well takes to answer anything. */
const answerMs = 2000

/** Whether the database answers within two seconds. */
export async function ping(database: Pick<Queryable, 'count'>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), answerMs)
  })
  const answer = database.count(sql`select 1`).then(
    () => true,
    () => false,
  )
  const isReachable = await Promise.race([answer, timeout])
  clearTimeout(timer)
  return isReachable
}
