import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'

/**
 * Rows of the log that one statement reads: its order and its records have an index, as every further one would cost every
 * write, so another filter reads rows until it has found enough or read so many.
 */
export const scanLimit = 50_000

/** A transaction has the time at which it began, and takes no longer than this: how far ids and times disagree. */
export const longestTransactionMs = 5 * 60_000

/**
 * An id before which every event is that may have happened before the time; found by halving, as ids grow with time and
 * times have no index.
 */
export async function findIdAt(
  database: Queryable,
  time: Date,
  side: 'before' | 'after',
): Promise<string | undefined> {
  const leewayMs = side === 'after' ? longestTransactionMs : -longestTransactionMs
  const bound = sql`${new Date(time.getTime() + leewayMs)}::timestamptz`
  const row = await database.maybeOne<{ id: string | null }>(sql`
    with recursive seek (low, high) as (
      select (select id from basalt.outbox order by id limit 1) - 1,
        (select id from basalt.outbox order by id desc limit 1) + 1
      union all
      select case when m.happened_at < ${bound} then m.id else s.low end,
        case when m.happened_at < ${bound} then s.high else (s.low + s.high) / 2 end
      from seek s
      left join lateral (
        select id, happened_at from basalt.outbox where id >= (s.low + s.high) / 2 and id < s.high order by id limit 1
      ) m on true
      where s.high - s.low > 1
    )
    select max(low + 1)::text as id from seek`)
  return row?.id ?? undefined
}
