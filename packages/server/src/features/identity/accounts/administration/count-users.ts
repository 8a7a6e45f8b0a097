import { countOrEstimate, estimateRows, type Total } from '../../../../database/estimated-total.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { hasSearchIndexes, mostMatches, newestReadShort, type UserSearch } from './search-users.ts'

/** Counts all matching users, or as many of them as a bounded search reads. @param known matches found for the page */
export async function countUsers(
  database: Queryable,
  search: UserSearch | undefined,
  filter: Sql,
  { isEstimated, known }: { readonly isEstimated: boolean; readonly known: number | undefined },
): Promise<Total> {
  const matching = search === undefined ? filter : sql`${search.matches} and ${filter}`
  if (search !== undefined && (search.found === undefined || (await hasSearchIndexes(database)))) {
    return await countMatches(database, search, filter, known)
  }
  if (!isEstimated) {
    const { total } = await database.one<{ total: string }>(
      sql`select count(*) as total from basalt.users u where ${matching}`,
    )
    return { totalItems: Number(total) }
  }
  return await countOrEstimate(database, sql`from basalt.users u where ${matching}`)
}

/**
 * Counts few matches exactly and lets the planner estimate many. A short text is counted among the newest
 * users only.
 */
async function countMatches(
  database: Queryable,
  { matches, expected, found }: UserSearch,
  filter: Sql,
  known: number | undefined,
): Promise<Total> {
  if (found !== undefined) {
    const counted = known ?? (await countFound(database, found(filter)))
    if (counted <= mostMatches) return { totalItems: counted }
    const estimated = await estimateRows(database, sql`from basalt.users u where ${expected} and ${filter}`)
    return { totalItems: Math.max(counted, estimated), isTotalEstimated: true }
  }
  const { count, read } = await database.one<{ count: number; read: number }>(sql`
    select count(*) filter (where ${matches} and ${filter})::int as count, count(*)::int as read
    from (
      select u.* from basalt.users u order by u.created_at desc, u.id limit ${sql.integer(newestReadShort)}
    ) u`)
  if (read < newestReadShort) return { totalItems: count }
  const estimated = Math.round((count / read) * (await estimateRows(database, sql`from basalt.users`)))
  return { totalItems: Math.max(count, estimated), isTotalEstimated: true }
}

export async function countFound(database: Queryable, found: Sql): Promise<number> {
  const { count } = await database.one<{ count: number }>(
    sql`select count(*)::int as count from (${found}) found`,
  )
  return count
}
