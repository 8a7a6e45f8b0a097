import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { isUuid } from '../../../../lib/uuid.ts'

/** Maximum number of matches that the index finds. A larger number of matches is sorted only in part. */
export const mostMatches = 10_000
/** Number of newest users that are read for a page before the index is used. */
export const newestRead = 2000
/** Number of newest users that are read for a text without a trigram. */
export const newestReadShort = 20_000

/** Text that users are searched for. */
export interface UserSearch {
  /** Condition on a user `u`. */
  readonly matches: Sql
  /** Condition on a user `u` whose number of matches the planner estimates best. */
  readonly expected: Sql
  /** Ids of the users `u` that match and meet another condition, by index. Undefined for a text without a trigram. */
  readonly found: ((condition: Sql) => Sql) | undefined
}

/** Parses a search text. Returns undefined for an empty one. */
export function parseUserSearch(search: string): UserSearch | undefined {
  const text = search.trim().toLowerCase()
  if (text === '') return undefined
  const pattern = `%${text.replace(/[\\%_]/g, '\\$&')}%`
  const ofUser = sql`(lower(u.email) like ${pattern} or u.phone like ${pattern})`
  const ofIdentity = sql`lower(i.name) like ${pattern}`
  const isId = isUuid(text) ? sql`u.id = ${text}::uuid` : sql`false`
  const trigrams = trigramsOf(text)
  const limit = sql`limit ${sql.integer(mostMatches + 1)}`
  return {
    matches: sql`(${ofUser} or ${isId}
      -- The offset keeps PostgreSQL from reading every identity for a few users.
      or exists (select from basalt.social_identities i where i.user_id = u.id and ${ofIdentity} offset 0))`,
    expected: sql`u.email like ${pattern}`,
    found:
      trigrams.length === 0
        ? undefined
        : (condition) => sql`
            (
              select u.id from basalt.users u
              where basalt.trigrams(coalesce(u.email, '') || ' ' || coalesce(u.phone, '')) @> ${trigrams}::text[]
                and ${ofUser} and ${condition} ${limit}
            )
            union
            (
              select u.id from basalt.social_identities i join basalt.users u on u.id = i.user_id
              where basalt.trigrams(i.name) @> ${trigrams}::text[] and ${ofIdentity} and ${condition} ${limit}
            )
            union
            (select u.id from basalt.users u where ${isId} and ${condition})
            ${limit}`,
  }
}

/** Returns the trigrams that every text containing this one has, whatever the case of its letters. */
function trigramsOf(text: string): string[] {
  const letters = Array.from(text)
  const trigrams = letters.slice(2).map((_, index) => letters.slice(index, index + 3).join(''))
  return [...new Set(trigrams)].filter((trigram) => /^[\x20-\x7e]{3}$/.test(trigram))
}

/**
 * Returns whether the indexes of {@link UserSearch.found} exist. Large tables get theirs in the background
 * after an upgrade.
 */
export async function hasSearchIndexes(database: Queryable): Promise<boolean> {
  const { count } = await database.one<{ count: number }>(sql`
    select count(*)::int as count from pg_index
    where indexrelid in (to_regclass('basalt.users_trigrams'), to_regclass('basalt.social_identities_trigrams'))
      and indisvalid`)
  return count === 2
}
