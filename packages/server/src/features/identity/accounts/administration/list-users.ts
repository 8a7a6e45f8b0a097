import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { readChoice, readTimePosition, writeTimePosition } from '../../../../http/requests/filters.ts'
import { readPage } from '../../../../http/schemas.ts'
import { accountErrors } from '../errors.ts'
import { describeUser, type User, userColumns } from '../users.ts'

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
  const matching = readFilter(query)
  const isCounted = cursor === undefined && readFlag('skipTotal', query.skipTotal) !== true
  const after = cursor === undefined ? sql`true` : readCursor(cursor)
  const offset = cursor === undefined ? passed : 0
  const rows = await selectUsers(database, sql`${matching} and ${after}`, { limit: perPage + 1, offset })
  const items = rows.slice(0, perPage)
  const last = items.at(-1)
  const totalItems = isCounted ? await countUsers(database, matching) : -1
  return {
    items: items.map(describeListed),
    page,
    perPage,
    totalItems,
    totalPages: isCounted ? Math.ceil(totalItems / perPage) : -1,
    ...(rows.length > perPage && last !== undefined
      ? { nextCursor: writeTimePosition({ microseconds: last.position, id: last.id }) }
      : {}),
  }
}

/** @throws AppError user_not_found */
export async function getListedUser(database: Queryable, id: string) {
  const [user] = await selectUsers(database, sql`u.id = ${id}`, { limit: 1, offset: 0 })
  if (user === undefined) throw accountErrors.userNotFound()
  return describeListed(user)
}

async function selectUsers(
  database: Queryable,
  matching: Sql,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<ListedUser[]> {
  return await database.many<ListedUser>(sql`
    select ${userColumns}, (extract(epoch from u.created_at) * 1000000)::bigint::text as position,
      (select max(s.last_active_at) from basalt.sessions s
        where s.user_id = u.id and s.impersonated_by is null) as last_active_at,
      array(select f.method from basalt.mfa_factors f
        where f.user_id = u.id and f.confirmed_at is not null order by 1) as factors,
      array(select distinct i.provider from basalt.social_identities i where i.user_id = u.id order by 1) as providers
    from (
      -- What is shown of a user is looked up for those of the page alone.
      select ${userColumns} from basalt.users u
      where ${matching}
      order by u.created_at desc, u.id
      limit ${limit} offset ${offset}
    ) u
    order by u.created_at desc, u.id`)
}

async function countUsers(database: Queryable, matching: Sql): Promise<number> {
  const { total } = await database.one<{ total: string }>(
    sql`select count(*) as total from basalt.users u where ${matching}`,
  )
  return Number(total)
}

function readFilter(query: UserListQuery): Sql {
  const conditions: Sql[] = [matchesText(query.search?.trim() ?? '')]
  const disabled = readFlag('disabled', query.disabled)
  if (disabled !== undefined) conditions.push(sql`(u.disabled_at is not null) = ${disabled}`)
  const anonymous = readFlag('anonymous', query.anonymous)
  if (anonymous !== undefined) conditions.push(sql`u.is_anonymous = ${anonymous}`)
  const verified = readFlag('verified', query.verified)
  if (verified !== undefined) conditions.push(sql`(u.email_verified_at is not null) = ${verified}`)
  const factor = readFlag('factor', query.factor)
  if (factor !== undefined) {
    conditions.push(sql`exists (
      select from basalt.mfa_factors f where f.user_id = u.id and f.confirmed_at is not null) = ${factor}`)
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

function matchesText(search: string): Sql {
  if (search === '') return sql`true`
  const text = search.toLowerCase()
  const pattern = `%${text.replace(/[\\%_]/g, '\\$&')}%`
  return sql`(lower(u.email) like ${pattern} or u.phone like ${pattern} or u.id::text = ${text}
    or exists (select from basalt.social_identities i where i.user_id = u.id and lower(i.name) like ${pattern}))`
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
