import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component, described, timestamp } from '../../../http/schemas.ts'
import { type AppError, codeOf } from '../../../lib/errors.ts'
import { isObject, type JsonObject } from '../../../lib/json.ts'
import { isStorableJson } from '../../../lib/storable-text.ts'
import { Type } from '../../../lib/type.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { revokeApiKeysOf } from '../api-keys/index.ts'
import { accountErrors } from './errors.ts'

/** Row of `basalt.users`. */
export interface User {
  readonly id: string
  readonly email: string | null
  readonly email_verified_at: Date | null
  readonly phone: string | null
  readonly password_hash: string | null
  readonly is_anonymous: boolean
  readonly linked_at: Date | null
  readonly disabled_at: Date | null
  readonly app_metadata: JsonObject
  readonly created_at: Date
  readonly updated_at: Date
  readonly [column: string]: unknown
}

export const userColumns = sql`
  id, email, email_verified_at, phone, password_hash, is_anonymous, linked_at, disabled_at, app_metadata,
  created_at, updated_at`

/** Named, because generators do not accept an open object within a schema that others extend. */
export const AppMetadata = component(
  'AppMetadata',
  Type.Object(
    {},
    {
      additionalProperties: true,
      description: 'Facts that only functions and administrators set. The user can read them.',
    },
  ),
)

/** User in responses. */
export const UserObject = component(
  'User',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    email: Type.String({ description: 'Empty if there is none.' }),
    emailVerified: Type.Boolean(),
    phone: Type.Optional(Type.String({ description: 'E.164.' })),
    is_anonymous: Type.Boolean(),
    linked_at: Type.Optional(timestamp),
    app_metadata: Type.Optional(described('Absent while there are none.', AppMetadata)),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
)
export type UserObject = Answered<typeof UserObject>

export function describeUser(user: User): UserObject {
  return {
    id: user.id,
    email: user.email ?? '',
    emailVerified: user.email_verified_at !== null,
    phone: user.phone ?? undefined,
    is_anonymous: user.is_anonymous,
    linked_at: user.linked_at ?? undefined,
    app_metadata: Object.keys(user.app_metadata).length === 0 ? undefined : user.app_metadata,
    createdAt: user.created_at,
    updatedAt: user.updated_at,
  }
}

export async function findUserById(database: Queryable, id: string): Promise<User | undefined> {
  if (!isUuid(id)) return undefined
  return await database.maybeOne<User>(sql`select ${userColumns} from basalt.users where id = ${id}`)
}

/** Returns a user. @throws AppError user_not_found */
export async function requireUser(database: Queryable, id: string): Promise<User> {
  const user = await findUserById(database, id)
  if (user === undefined) throw accountErrors.userNotFound()
  return user
}

/**
 * Returns the user, locked until the transaction ends. A change of an account takes this lock first, then
 * those of its tokens and sessions. One order prevents deadlocks.
 */
export async function lockUser(database: Queryable, id: string): Promise<User | undefined> {
  if (!isUuid(id)) return undefined
  return await database.maybeOne<User>(
    sql`select ${userColumns} from basalt.users where id = ${id} for update`,
  )
}

/** Returns the user with this address, locked as by {@link lockUser}. @param email normalized */
export async function lockUserByEmail(database: Queryable, email: string): Promise<User | undefined> {
  return await database.maybeOne<User>(
    sql`select ${userColumns} from basalt.users where email = ${email} for update`,
  )
}

/** Returns the user with this address. @param email normalized */
export async function findUserByEmail(database: Queryable, email: string): Promise<User | undefined> {
  return await database.maybeOne<User>(sql`select ${userColumns} from basalt.users where email = ${email}`)
}

/** Returns the user with this phone, locked as by {@link lockUser}. @param phone E.164 */
export async function lockUserByPhone(database: Queryable, phone: string): Promise<User | undefined> {
  return await database.maybeOne<User>(
    sql`select ${userColumns} from basalt.users where phone = ${phone} for update`,
  )
}

export interface NewUser {
  readonly email?: string
  readonly isEmailVerified?: boolean
  readonly phone?: string
  readonly passwordHash?: string
  readonly isAnonymous?: boolean
}

/**
 * Inserts a user. Returns undefined when the email or phone already exists. One of several concurrent calls
 * succeeds.
 */
export async function insertUser(database: Queryable, user: NewUser): Promise<User | undefined> {
  return await database.maybeOne<User>(sql`
    insert into basalt.users (email, email_verified_at, phone, password_hash, is_anonymous)
    values (${user.email ?? null}, case when ${user.isEmailVerified ?? false}::bool then now() end,
      ${user.phone ?? null}, ${user.passwordHash ?? null}, ${user.isAnonymous ?? false})
    on conflict do nothing
    returning ${userColumns}`)
}

/**
 * Replaces the facts that only the server sets. Returns undefined when the user is deleted.
 *
 * @throws AppError invalid_app_metadata, after which a transaction cannot continue
 */
export async function setAppMetadata(
  database: Queryable,
  userId: string,
  metadata: unknown,
): Promise<User | undefined> {
  if (!isObject(metadata) || !isStorableJson(metadata)) throw accountErrors.invalidAppMetadata()
  const update = database.maybeOne<User>(sql`
    update basalt.users set app_metadata = ${JSON.stringify(metadata)}::jsonb, updated_at = now()
    where id = ${userId}
    returning ${userColumns}`)
  return await update.catch((error) => {
    // The size is that of the text in PostgreSQL, which alone knows it.
    const isUnfit = codeOf(error) === '23514' || ['22P02', '22003'].includes(codeOf(error) ?? '')
    throw isUnfit ? accountErrors.invalidAppMetadata() : error
  })
}

export async function setPassword(database: Queryable, userId: string, hash: string): Promise<void> {
  await database.count(sql`
    update basalt.users set password_hash = ${hash}, updated_at = now() where id = ${userId}`)
}

/** Replaces a password hash, if it is still the one that the new hash was made from. */
export async function upgradePasswordHash(
  database: Queryable,
  userId: string,
  from: string,
  to: string,
): Promise<void> {
  await database.count(sql`
    update basalt.users set password_hash = ${to} where id = ${userId} and password_hash = ${from}`)
}

/** Marks the address as verified. Returns undefined when the user is deleted or has another address. */
export async function markEmailVerified(
  database: Queryable,
  userId: string,
  email: string,
): Promise<User | undefined> {
  return await database.maybeOne<User>(sql`
    update basalt.users set email_verified_at = coalesce(email_verified_at, now()), updated_at = now()
    where id = ${userId} and email = ${email}
    returning ${userColumns}`)
}

/**
 * Clears an account that was registered with an address but never verified, when the owner of the address
 * signs in. A stranger may have registered it (pre-hijacking), so its password, phone, API keys, provider
 * identities, push devices and OAuth consents are deleted. Second factors stay. While there is one, the
 * address is not verified yet: a stranger's passkey would open an account with a verified address.
 */
export async function takeOverUnverified(
  database: Queryable,
  userId: string,
  { hasFactor }: { readonly hasFactor: boolean },
): Promise<User> {
  await revokeApiKeysOf(database, userId)
  await database.count(sql`delete from basalt.social_identities where user_id = ${userId}`)
  await database.count(sql`
    update basalt.push_devices set is_active = false, inactive_reason = 'revoked', updated_at = now()
    where user_id = ${userId} and is_active`)
  const user = await database.one<User>(sql`
    update basalt.users
    set password_hash = null, phone = null, updated_at = now(),
      email_verified_at = case when not ${hasFactor}::bool then now() end
    where id = ${userId} and email_verified_at is null
    returning ${userColumns}`)
  // Codes and tokens go with the consents. This is last because transactions change the version of API keys before
  // that of OAuth tokens.
  await database.count(sql`delete from basalt.oauth_consents where user_id = ${userId}`)
  return user
}

/**
 * Marks an anonymous user as one that a provider signs in. Returns undefined when the account is not
 * anonymous or already linked.
 */
export async function markLinked(database: Queryable, userId: string): Promise<User | undefined> {
  return await database.maybeOne<User>(sql`
    update basalt.users set is_anonymous = false, linked_at = now(), updated_at = now()
    where id = ${userId} and is_anonymous and disabled_at is null
    returning ${userColumns}`)
}

/**
 * Gives an anonymous user an email and a password.
 *
 * @returns undefined when the account is not anonymous or already linked
 * @throws AppError email_of_another
 */
export async function linkEmail(
  database: Queryable,
  userId: string,
  { email, passwordHash, isVerified }: { email: string; passwordHash?: string; isVerified: boolean },
): Promise<User | undefined> {
  const update = database.maybeOne<User>(sql`
    update basalt.users set email = ${email}, password_hash = ${passwordHash ?? null}, is_anonymous = false,
      email_verified_at = case when ${isVerified}::bool then now() end, linked_at = now(), updated_at = now()
    where id = ${userId} and is_anonymous and disabled_at is null
    returning ${userColumns}`)
  return await update.catch((error) => {
    throw codeOf(error) === '23505' ? accountErrors.emailOfAnother() : error
  })
}

/**
 * Deletes a user with all sessions, tokens and codes.
 *
 * @param database a transaction
 * @param refuse makes the error when rows of this table keep the user
 * @throws the error that `refuse` makes
 */
export async function deleteUser(
  database: Queryable,
  userId: string,
  refuse: (table: string) => AppError,
): Promise<boolean> {
  if (!isUuid(userId)) return false
  const erase = async () => {
    const count = await database.count(sql`delete from basalt.users where id = ${userId}`)
    // Deferred keys are checked now rather than at the commit.
    await database.count(sql`set constraints all immediate`)
    return count > 0
  }
  return await erase().catch((error) => {
    if (codeOf(error) !== '23503' && codeOf(error) !== '23001') throw error
    throw refuse(`${error.schema}.${error.table}`)
  })
}
