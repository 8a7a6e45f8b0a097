import { type Sql, sql } from './sql.ts'
import type { Queryable } from './system-database.ts'

/** Number of rows up to which a total is counted. */
const mostCounted = 100_000

/** Total of a list in responses. */
export interface Total {
  readonly totalItems: number
  /** Absent for an exact total. */
  readonly isTotalEstimated?: true
}

/** Counts few rows and estimates many. @param rows `from … where …` */
export async function countOrEstimate(database: Queryable, rows: Sql): Promise<Total> {
  const { count } = await database.one<{ count: number }>(sql`
    select count(*)::int as count from (select ${rows} limit ${sql.integer(mostCounted + 1)}) counted`)
  if (count <= mostCounted) return { totalItems: count }
  return { totalItems: Math.max(count, await estimateRows(database, rows)), isTotalEstimated: true }
}

/** Returns the planner's estimate of the number of rows. @param rows `from … where …` */
export async function estimateRows(database: Queryable, rows: Sql): Promise<number> {
  const row = await database.one<{ 'QUERY PLAN': readonly { Plan: { 'Plan Rows': number } }[] }>(
    sql`explain (format json) select ${rows}`,
  )
  return row['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0
}
