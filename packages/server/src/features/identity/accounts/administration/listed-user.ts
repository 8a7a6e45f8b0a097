import { type Sql, sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { adminOf } from '../../../../http/access/authentication.ts'
import { ok, operation } from '../../../../http/operation.ts'
import { writeTimePosition } from '../../../../http/requests/filters.ts'
import { type Answered, choice, component, extended, nullable, timestamp } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import type { AccountContext } from '../context.ts'
import { accountErrors } from '../errors.ts'
import { describeUser, type User, UserObject, userColumns } from '../users.ts'
import { maskFor } from './mask-user.ts'
import { administration, userParams } from './user-id.ts'

/** User in responses to administrators. */
export const AdminUser = component(
  'AdminUser',
  extended(
    UserObject,
    Type.Object({
      disabled: Type.Boolean(),
      lastActiveAt: nullable(timestamp),
      hasPassword: Type.Boolean(),
      factors: Type.Array(choice(['totp', 'email', 'sms', 'webauthn'])),
      providers: Type.Array(Type.String(), { description: 'Linked sign-in providers.' }),
    }),
  ),
)
export type AdminUser = Answered<typeof AdminUser>

export interface ListedUser extends User, Pick<AdminUser, 'lastActiveAt' | 'factors' | 'providers'> {
  /** Creation time in microseconds since 1970. */
  readonly position: string
}

export function describeListed(user: ListedUser): AdminUser {
  const { lastActiveAt, factors, providers } = user
  return {
    ...describeUser(user),
    disabled: user.disabled_at !== null,
    lastActiveAt,
    hasPassword: user.password_hash !== null,
    factors,
    providers,
  }
}

/** Returns a user with details. @throws AppError user_not_found */
export async function getListedUser(database: Queryable, id: string): Promise<AdminUser> {
  const [user] = await selectUsers(database, pageOf(sql`u.id = ${id}`, { limit: 1, offset: 0 }))
  if (user === undefined) throw accountErrors.userNotFound()
  return describeListed(user)
}

/** Creation time in microseconds since 1970. */
export const position = sql`(extract(epoch from u.created_at) * 1000000)::bigint::text`

export function positionOf({ id, position: microseconds }: Pick<ListedUser, 'id' | 'position'>): string {
  return writeTimePosition({ microseconds, id })
}

export interface PageRange {
  readonly limit: number
  readonly offset: number
}

/** Selects matching users `u` of a source, the newest first. */
export function pageOf(matching: Sql, { limit, offset }: PageRange, source: Sql = sql`basalt.users`): Sql {
  return sql`
    select ${userColumns} from ${source} u
    where ${matching}
    order by u.created_at desc, u.id
    limit ${limit} offset ${offset}`
}

/** Reads users with details, which are looked up for this page only. */
export async function selectUsers(database: Queryable, page: Sql): Promise<ListedUser[]> {
  return await database.many<ListedUser>(sql`
    select ${userColumns}, ${position} as position,
      (select max(s.last_active_at) from basalt.sessions s
        where s.user_id = u.id and s.impersonated_by is null) as "lastActiveAt",
      array(select f.method from basalt.mfa_factors f
        where f.user_id = u.id and f.confirmed_at is not null order by 1) as factors,
      array(select distinct i.provider from basalt.social_identities i where i.user_id = u.id order by 1) as providers
    from (${page}) u
    order by u.created_at desc, u.id`)
}

export const getUser = operation({
  ...administration,
  id: 'users.get',
  permission: 'users.view',
  method: 'GET',
  path: '/api/admin/users/:id',
  summary: 'Get a user',
  description: 'The role `viewer` gets a masked address and phone number.',
  params: userParams,
  success: ok(AdminUser),
  handle: async ({ database }: AccountContext, { params, http }) =>
    maskFor(adminOf(http), await getListedUser(database, params.id)),
})
