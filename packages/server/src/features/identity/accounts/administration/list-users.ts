import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { adminOf } from '../../../../http/access/authentication.ts'
import { requirePermission } from '../../../../http/access/grants.ts'
import { ok, operation } from '../../../../http/operation.ts'
import { readChoice, readTimePosition } from '../../../../http/requests/filters.ts'
import { checkedByHandler, pageQuery, readPage, timestamp } from '../../../../http/schemas.ts'
import { type Static, Type } from '../../../../lib/type.ts'
import type { AccountContext } from '../context.ts'
import { countFound, countUsers } from './count-users.ts'
import {
  AdminUser,
  describeListed,
  type ListedUser,
  type PageRange,
  pageOf,
  position,
  positionOf,
  selectUsers,
} from './listed-user.ts'
import { maskFor } from './mask-user.ts'
import {
  hasSearchIndexes,
  mostMatches,
  newestRead,
  newestReadShort,
  parseUserSearch,
  type UserSearch,
} from './search-users.ts'
import { administration } from './user-id.ts'

const totals = ['exact', 'estimated'] as const

/** Declares a parameter that {@link readFlag} reads. */
function flag(description: string) {
  return Type.Optional(checkedByHandler({ type: 'boolean' }, Type.String({ description })))
}

const listQuery = Type.Object({
  ...pageQuery.properties,
  cursor: Type.Optional(
    checkedByHandler(
      { format: 'cursor', minLength: 1 },
      Type.String({
        maxLength: 100,
        description: '`nextCursor` of the previous page. Totals are not counted for later pages.',
      }),
    ),
  ),
  skipTotal: flag('True if totals are not needed. They are then -1.'),
  total: Type.Optional(
    checkedByHandler(
      { enum: totals },
      Type.String({
        default: 'exact',
        description:
          '`estimated`: PostgreSQL estimates a total of more than 100,000 users, without the cost of a count.',
      }),
    ),
  ),
  search: Type.Optional(
    Type.String({
      maxLength: 320,
      description:
        'Part of an email, of a phone number or of the name at a provider, or an id. Fewer than three characters are searched among the newest 20,000 users.',
    }),
  ),
  disabled: flag('True: only disabled users. False: only enabled users.'),
  anonymous: flag('True: only anonymous users. False: only others.'),
  verified: flag('True: only users with a verified email. False: only others.'),
  factor: flag('True: only users with a second factor. False: only others.'),
  provider: Type.Optional(
    Type.String({ maxLength: 100, description: 'Only users who are linked to this sign-in provider.' }),
  ),
})

export const listUsers = operation({
  ...administration,
  id: 'users.list',
  permission: 'users.view',
  method: 'GET',
  path: '/api/admin/users',
  summary: 'List users, the newest first',
  description: 'The role `viewer` gets masked addresses and phone numbers, and cannot search.',
  query: listQuery,
  success: ok(
    Type.Object({
      items: Type.Array(AdminUser),
      page: Type.Integer(),
      perPage: Type.Integer(),
      totalItems: Type.Integer({ description: 'An estimate when a search has more than 10,000 matches.' }),
      isTotalEstimated: Type.Optional(
        Type.Boolean({ description: 'True if `totalItems` and `totalPages` are estimates.' }),
      ),
      totalPages: Type.Integer(),
      nextCursor: Type.Optional(
        Type.String({ description: 'Cursor of the next page. Missing on the last page.' }),
      ),
      isSearchComplete: Type.Optional(
        Type.Boolean({
          description:
            'False if the search did not consider every user. It sorted 10,000 of more matches, or ended at `searchedTo`.',
        }),
      ),
      searchedTo: Type.Optional({
        ...timestamp,
        description:
          'Creation time of the oldest user that a bounded search has read. `nextCursor` continues there.',
      }),
    }),
  ),
  async handle({ database }: AccountContext, { query, http }) {
    const administrator = adminOf(http)
    // A search would confirm an address that is guessed.
    if (query.search !== undefined) requirePermission(administrator, 'users.read')
    const { cursor } = query
    const { page, perPage, offset } = readPage(query)
    const filter = readFilter(query)
    const isCounted = cursor === undefined && readFlag('skipTotal', query.skipTotal) !== true
    const isEstimated = readChoice('total', query.total ?? 'exact', totals) === 'estimated'
    const after = cursor === undefined ? sql`true` : readCursor(cursor)
    const range = { limit: perPage + 1, offset: cursor === undefined ? offset : 0 }
    const search = parseUserSearch(query.search ?? '')
    const condition = sql`${filter} and ${after}`
    const { rows, ...bounds }: FoundUsers =
      search === undefined
        ? { rows: await selectUsers(database, pageOf(condition, range)) }
        : await searchUsers(database, search, condition, range)
    const items = rows.slice(0, perPage)
    const last = items.at(-1)
    const total = isCounted
      ? await countUsers(database, search, filter, { isEstimated, known: bounds.count })
      : { totalItems: -1 }
    return {
      items: items.map((user) => maskFor(administrator, describeListed(user))),
      page,
      perPage,
      ...total,
      totalPages: isCounted ? Math.ceil(total.totalItems / perPage) : -1,
      nextCursor: rows.length > perPage && last !== undefined ? positionOf(last) : bounds.next,
      isSearchComplete: bounds.isComplete === false ? false : undefined,
      searchedTo: bounds.searchedTo,
    }
  },
})

interface FoundUsers {
  readonly rows: readonly ListedUser[]
  /** False if there may be matching users that were not read. */
  readonly isComplete?: boolean
  /** Creation time of the oldest user that was read, if the search ended there. */
  readonly searchedTo?: Date
  /** Cursor that continues after the page. */
  readonly next?: string
  /** Matches that the index has found. It counts at most one more than are sorted. */
  readonly count?: number
}

/**
 * Finds the newest matching users. A common text is found among the newest users. Any other text is found by
 * index, because sorting every match of a common one would be expensive.
 */
async function searchUsers(
  database: Queryable,
  { matches, found }: UserSearch,
  condition: Sql,
  range: PageRange,
): Promise<FoundUsers> {
  const isIndexed = found !== undefined && (await hasSearchIndexes(database))
  // While the indexes are being built, the search reads every user.
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
    : { rows, isComplete: false, searchedTo: end.created_at, next: positionOf(end) }
}

function readFilter({ provider, ...query }: Static<typeof listQuery>): Sql {
  const conditions: Sql[] = [sql`true`]
  const disabled = readFlag('disabled', query.disabled)
  const anonymous = readFlag('anonymous', query.anonymous)
  const verified = readFlag('verified', query.verified)
  const factor = readFlag('factor', query.factor)
  if (disabled !== undefined) conditions.push(sql`u.disabled_at is ${disabled ? sql`not null` : sql`null`}`)
  if (anonymous !== undefined) conditions.push(sql`${anonymous ? sql.empty : sql`not`} u.is_anonymous`)
  if (verified !== undefined) {
    conditions.push(sql`u.email_verified_at is ${verified ? sql`not null` : sql`null`}`)
  }
  if (factor !== undefined) {
    // A condition of its own, which PostgreSQL can begin with.
    conditions.push(sql`${factor ? sql.empty : sql`not`} exists (
      select from basalt.mfa_factors f where f.user_id = u.id and f.confirmed_at is not null)`)
  }
  if (provider !== undefined) {
    conditions.push(sql`exists (
      select from basalt.social_identities i where i.user_id = u.id and i.provider = ${provider})`)
  }
  return sql.join(conditions, sql` and `)
}

function readFlag(name: string, text: string | undefined): boolean | undefined {
  return text === undefined ? undefined : readChoice(name, text, ['true', 'false']) === 'true'
}

/** Returns the condition that continues after a position in the order. @throws AppError invalid_list_parameter */
function readCursor(cursor: string): Sql {
  const { microseconds, id } = readTimePosition(cursor)
  const at = sql`('epoch'::timestamptz + ${microseconds}::bigint * interval '1 microsecond')`
  return sql`(u.created_at < ${at} or (u.created_at = ${at} and u.id > ${id}::uuid))`
}
