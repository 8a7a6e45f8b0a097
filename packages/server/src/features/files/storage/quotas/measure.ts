import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'

/** An hour's maximum does not need it more often. */
const intervalMs = 60_000

/** Creates the measure of stored bytes by app, for the usage. It returns an empty map shortly after a measurement. */
export function createStorageMeasure(
  database: Queryable,
  now: () => number = () => performance.now(),
): () => Promise<ReadonlyMap<string, number>> {
  let measuredAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (now() - measuredAt < intervalMs) return new Map()
    const rows = await database.many<{ app_id: string; bytes: number }>(sql`
      select app_id, sum(bytes)::float8 as bytes from basalt.app_storage_usage group by app_id having sum(bytes) <> 0`)
    measuredAt = now()
    return new Map(rows.map((row) => [row.app_id, row.bytes]))
  }
}
