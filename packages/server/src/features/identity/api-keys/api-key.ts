import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { ActionName } from '../../../http/access/actions.ts'
import {
  type Answered,
  choice,
  component,
  nullable,
  type PageRequest,
  readPage,
  timestamp,
} from '../../../http/schemas.ts'
import { codeOf } from '../../../lib/errors.ts'
import { Type } from '../../../lib/type.ts'
import type { NewSecret } from './token.ts'

export const scopes = ['*', 'readonly', 'readwrite'] as const

/** API key without its secret. */
export const ApiKey = component(
  'ApiKey',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    userId: Type.String({ format: 'uuid' }),
    name: Type.String(),
    keyPrefix: Type.String({ description: 'First characters of the key.' }),
    scope: choice(scopes),
    allowedTables: Type.Array(Type.String(), { description: 'Empty means all collections.' }),
    actions: Type.Array(ActionName, {
      description: 'Actions that the key may perform in addition to its scope.',
    }),
    appId: nullable(Type.String({ format: 'uuid' })),
    lastUsedAt: nullable(timestamp),
    expiresAt: nullable(timestamp),
    createdAt: timestamp,
    revokedAt: nullable(timestamp),
  }),
)
export type ApiKey = Answered<typeof ApiKey>

/** API key with a new secret. */
export const CreatedApiKey = component(
  'CreatedApiKey',
  Type.Object({
    key: Type.String({ description: 'Secret to send as bearer token. It is shown only once.' }),
    apiKey: ApiKey,
  }),
)
export type CreatedApiKey = Answered<typeof CreatedApiKey>

export type NewKey = Pick<ApiKey, 'userId' | 'name' | 'scope' | 'allowedTables' | 'actions' | 'appId'> & {
  readonly expiresAt: Date | undefined
}

/** Filter for the keys of one user or app, or of all. */
export interface KeyFilter {
  readonly userId?: string | undefined
  readonly appId?: string | undefined
}

const columns = sql`
  id, user_id as "userId", name, key_prefix as "keyPrefix", scope, allowed_tables as "allowedTables", actions,
  app_id as "appId", last_used_at as "lastUsedAt", expires_at as "expiresAt", created_at as "createdAt",
  revoked_at as "revokedAt"`

/** Builds the condition that selects keys of one user, or of all. */
function isOf(userId: string | undefined) {
  return userId === undefined ? sql`true` : sql`user_id = ${userId}`
}

/** Returns a page of the keys, the newest first, including revoked ones. */
export async function listApiKeys(
  database: Queryable,
  { userId, appId, ...request }: PageRequest & KeyFilter,
) {
  const { page, perPage, offset } = readPage(request)
  const filter = appId === undefined ? isOf(userId) : sql`${isOf(userId)} and app_id = ${appId}`
  const items = await database.many<ApiKey>(sql`
    select ${columns} from basalt.api_keys where ${filter}
    order by created_at desc, id limit ${perPage} offset ${offset}`)
  const { total } = await database.one<{ total: number }>(
    sql`select count(*)::int as total from basalt.api_keys where ${filter}`,
  )
  return { items, page, perPage, totalItems: total, totalPages: Math.ceil(total / perPage) }
}

/** Returns the newest keys of a user, including revoked ones. */
export async function listApiKeysOf(database: Queryable, userId: string, limit: number): Promise<ApiKey[]> {
  return await database.many<ApiKey>(sql`
    select ${columns} from basalt.api_keys where user_id = ${userId}
    order by created_at desc, id limit ${limit}`)
}

/** Member of a new key that names a missing object or a time in the past. */
export type Fault = 'user' | 'app' | 'expiry'

export async function insertApiKey(
  database: Queryable,
  key: NewKey,
  { hash, keyPrefix }: NewSecret,
): Promise<ApiKey | Fault> {
  const expiresAt = key.expiresAt?.toISOString() ?? null
  const insert = database.maybeOne<ApiKey>(sql`
    with created as (
      insert into basalt.api_keys (user_id, app_id, name, key_prefix, scope, allowed_tables, actions, expires_at)
      select ${key.userId}::uuid, ${key.appId}::uuid, ${key.name}, ${keyPrefix}, ${key.scope},
        ${key.allowedTables}::text[], ${key.actions}::text[], ${expiresAt}::timestamptz
      where ${expiresAt}::timestamptz is null or ${expiresAt}::timestamptz > now()
      returning ${columns}
    ), secret as (
      insert into basalt.api_key_secrets (token_hash, key_id) select ${hash}::bytea, id from created
    )
    select * from created`)
  const created = await insert.catch((error) => {
    if (codeOf(error) !== '23503') throw error
    return error.constraint === 'api_keys_app_id_fkey' ? ('app' as const) : ('user' as const)
  })
  return created ?? 'expiry'
}

/** Revokes a key. Returns false if it was not active. */
export async function revokeKey(database: Queryable, id: string, userId?: string): Promise<boolean> {
  const count = await database.count(sql`
    update basalt.api_keys set revoked_at = now()
    where id = ${id} and ${isOf(userId)} and revoked_at is null`)
  return count > 0
}

/** Revokes keys that were created before the owner of the address signed in by mail. */
export async function revokeApiKeysOf(database: Queryable, userId: string): Promise<void> {
  await database.count(sql`
    update basalt.api_keys set revoked_at = now() where user_id = ${userId} and revoked_at is null`)
}

/** Changes an active key. An undefined member stays unchanged. */
export async function updateApiKey(
  database: Queryable,
  id: string,
  { name, actions }: { readonly name: string | undefined; readonly actions: ApiKey['actions'] | undefined },
  userId?: string,
): Promise<ApiKey | undefined> {
  return await database.maybeOne<ApiKey>(sql`
    update basalt.api_keys
    set name = coalesce(${name ?? null}, name), actions = coalesce(${actions ?? null}::text[], actions)
    where id = ${id} and ${isOf(userId)} and revoked_at is null
    returning ${columns}`)
}

/**
 * Adds a new secret to the key. The previous secret stays valid for the grace period, and older ones end.
 * Requires a transaction: of several concurrent calls, the last secret and the one before it remain.
 */
export async function replaceSecret(
  database: Queryable,
  { id, userId, graceSeconds }: { id: string; userId: string | undefined; graceSeconds: number },
  { hash, keyPrefix }: NewSecret,
): Promise<ApiKey | undefined> {
  const key = await database.maybeOne<ApiKey>(sql`
    update basalt.api_keys set key_prefix = ${keyPrefix}
    where id = ${id} and ${isOf(userId)} and revoked_at is null and (expires_at is null or expires_at > now())
    returning ${columns}`)
  if (key === undefined) return undefined
  await database.count(
    sql`delete from basalt.api_key_secrets where key_id = ${id} and expires_at is not null`,
  )
  await database.count(sql`
    update basalt.api_key_secrets
    set expires_at = clock_timestamp() + make_interval(secs => ${graceSeconds}::int)
    where key_id = ${id}`)
  await database.count(
    sql`insert into basalt.api_key_secrets (token_hash, key_id) values (${hash}::bytea, ${id})`,
  )
  return key
}
