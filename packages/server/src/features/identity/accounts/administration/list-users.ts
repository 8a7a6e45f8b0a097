import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { readChoice, readTimePosition, writeTimePosition } from '../../../../http/requests/filters.ts'
import { readPage } from '../../../../http/schemas.ts'
import { accountErrors } from '../errors.ts'
import { describeUser, type User, userColumns } from '../users.ts'
import { countFound, countUsers } from './count-users.ts'
import {
  hasSearchIndexes,
  mostMatches,
  newestRead,
  newestReadShort,
  parseUserSearch,
  type UserSearch,
} from './search-users.ts'

/** A user as the administrator sees it. */
interface ListedUser extends User {
  readonly last_active_at: Date | null
  readonly factors: readonly string[]
  readonly providers: readonly string[]
  /** When it was made, in microseconds since 1970. */
  readonly position: string
}

/** Parameters of the list as sent. */
export interface UserListQuery {
  readonly page?: number
  readonly perPage?: number
  readonly cursor?: string
  readonly skipTotal?: string
  readonly total?: string
  readonly search?: string
  readonly disabled?: string
  readonly anonymous?: string
  readonly verified?: string
  readonly factor?: string
  readonly provider?: string
}

/** A page of users, the newest first. @throws AppError invalid_list_parameter */
export async function listUsers(database: Queryable, query: UserListQuery) {
  const { cursor } = query
  const { page, perPage, offset: passed } = readPage(query)
  const filter = readFilter(query)
  const isCounted = cursor === undefined && readFlag('skipTotal', query.skipTotal) !== true
  const isEstimated = readChoice('total', query.total ?? 'exact', ['exact', 'estimated']) === 'estimated'
  const after = cursor === undefined ? sql`true` : readCursor(cursor)
  const range = { limit: perPage + 1, offset: cursor === undefined ? passed : 0 }
  const search = parseUserSearch(query.search ?? '')
  const condition = sql`${filter} and ${after}`
  const { rows, ...bounds }: FoundUsers =
    search === undefined
      ? { rows: await selectUsers(database, pageOf(condition, range)) }
      : await searchUsers(database, search, condition, range)
  const items = rows.slice(0, perPage)
  const last = items.at(-1)
  const next = rows.length > perPage && last !== undefined ? positionOf(last) : bounds.next
  const total = isCounted
    ? await countUsers(database, search, filter, { isEstimated, known: bounds.count })
    : { totalItems: -1 }
  return {
    items: items.map(describeListed),
    page,
    perPage,
    ...total,
    totalPages: isCounted ? Math.ceil(total.totalItems / perPage) : -1,
    ...(next === undefined ? {} : { nextCursor: next }),
    ...(bounds.isComplete === false ? { isSearchComplete: false } : {}),
    ...(bounds.searchedTo === undefined ? {} : { searchedTo: bounds.searchedTo }),
  }
}

interface PageRange {
  readonly limit: number
  readonly offset: number
}

interface FoundUsers {
  readonly rows: readonly ListedUser[]
  /** False when users may match that were not read. */
  readonly isComplete?: boolean
  /** When the oldest user that was read was made, where that ended the search. */
  readonly searchedTo?: string
  /** Cursor that continues behind it. */
  readonly next?: string
  /** Matches that the index has found, at most one more than are sorted. */
  readonly count?: number
}

/**
 * Finds the newest users that match. Those of a common text are among the newest users; those of any other are found by
 * index, which must not sort every match of a common one.
 */
async function searchUsers(
  database: Queryable,
  { matches, found }: UserSearch,
  condition: Sql,
  range: PageRange,
): Promise<FoundUsers> {
  const isIndexed = found !== undefined && (await hasSearchIndexes(database))
  // Without the indexes every user is read, as long as they are being built.
  if (found !== undefined && !isIndexed) {
    return { rows: await selectUsers(database, pageOf(sql`${condition} and ${matches}`, range)) }
  }
  const read = isIndexed ? newestRead : newestReadShort
  const newest = sql`(
    select u.* from basalt.users u where ${condition} order by u.created_at desc, u.id limit ${sql.integer(read)}
  )`
  const rows = await selectUsers(database, pageOf(matches, range, newest))
  if (rows.length === range.limit) return { rows }
  if (found !== undefined) {
    const ids = sql`(with found as materialized (${found(condition)})
      select u.* from basalt.users u where u.id = any (array(select id from found)))`
    const count = await countFound(database, found(condition))
    const sorted = count === 0 ? [] : await selectUsers(database, pageOf(sql`true`, range, ids))
    return { rows: sorted, count, isComplete: count <= mostMatches }
  }
  const end = await database.maybeOne<Pick<ListedUser, 'id' | 'created_at' | 'position'>>(sql`
    select u.id, u.created_at, ${position} as position from basalt.users u where ${condition}
    order by u.created_at desc, u.id limit 1 offset ${sql.integer(read - 1)}`)
  return end === undefined
    ? { rows }
    : { rows, isComplete: false, searchedTo: end.created_at.toISOString(), next: positionOf(end) }
}

/** @throws AppError user_not_found */
export async function getListedUser(database: Queryable, id: string) {
  const [user] = await selectUsers(database, pageOf(sql`u.id = ${id}`, { limit: 1, offset: 0 }))
  if (user === undefined) throw accountErrors.userNotFound()
  return describeListed(user)
}

/** Microseconds since 1970. */
const position = sql`(extract(epoch from u.created_at) * 1000000)::bigint::text`

function positionOf({ id, position: microseconds }: Pick<ListedUser, 'id' | 'position'>): string {
  return writeTimePosition({ microseconds, id })
}

/** Users `u` of a source that match, the newest first. */
function pageOf(matching: Sql, { limit, offset }: PageRange, source: Sql = sql`basalt.users`): Sql {
  return sql`
    select ${userColumns} from ${source} u
    where ${matching}
    order by u.created_at desc, u.id
    limit ${limit} offset ${offset}`
}

/** Reads details of users for those of the page alone. */
async function selectUsers(database: Queryable, page: Sql): Promise<ListedUser[]> {
  return await database.many<ListedUser>(sql`
    select ${userColumns}, ${position} as position,
      (select max(s.last_active_at) from basalt.sessions s
        where s.user_id = u.id and s.impersonated_by is null) as last_active_at,
      array(select f.method from basalt.mfa_factors f
        where f.user_id = u.id and f.confirmed_at is not null order by 1) as factors,
      array(select distinct i.provider from basalt.social_identities i where i.user_id = u.id order by 1) as providers
    from (${page}) u
    order by u.created_at desc, u.id`)
}

function readFilter(query: UserListQuery): Sql {
  const conditions: Sql[] = [sql`true`]
  const disabled = readFlag('disabled', query.disabled)
  if (disabled !== undefined) conditions.push(sql`u.disabled_at is ${disabled ? sql`not null` : sql`null`}`)
  const anonymous = readFlag('anonymous', query.anonymous)
  if (anonymous !== undefined) conditions.push(sql`${anonymous ? sql.empty : sql`not`} u.is_anonymous`)
  const verified = readFlag('verified', query.verified)
  if (verified !== undefined)
    conditions.push(sql`u.email_verified_at is ${verified ? sql`not null` : sql`null`}`)
  const factor = readFlag('factor', query.factor)
  if (factor !== undefined) {
    // As a condition of its own, which PostgreSQL can begin with.
    conditions.push(sql`${factor ? sql.empty : sql`not`} exists (
      select from basalt.mfa_factors f where f.user_id = u.id and f.confirmed_at is not null)`)
  }
  const { provider } = query
  if (provider !== undefined) {
    conditions.push(sql`exists (
      select from basalt.social_identities i where i.user_id = u.id and i.provider = ${provider})`)
  }
  return sql.join(conditions, sql` and `)
}

function readFlag(name: string, text: string | undefined): boolean | undefined {
  return text === undefined ? undefined : readChoice(name, text, ['true', 'false']) === 'true'
}

/** Continues after a position of the order. @throws AppError invalid_list_parameter */
function readCursor(cursor: string): Sql {
  const { microseconds, id } = readTimePosition(cursor)
  const at = sql`('epoch'::timestamptz + ${microseconds}::bigint * interval '1 microsecond')`
  return sql`(u.created_at < ${at} or (u.created_at = ${at} and u.id > ${id}::uuid))`
}

function describeListed(user: ListedUser) {
  return {
    ...describeUser(user),
    disabled: user.disabled_at !== null,
    lastActiveAt: user.last_active_at?.toISOString() ?? null,
    hasPassword: user.password_hash !== null,
    factors: user.factors,
    providers: user.providers,
  }
}
