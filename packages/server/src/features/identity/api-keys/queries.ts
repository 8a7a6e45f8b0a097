import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { Action } from '../../../http/access/actions.ts'
import { defaultAppId } from '../../../http/access/identity.ts'
import { codeOf } from '../../../lib/errors.ts'
import type { OpenedProgram, Scope } from '../opaque-tokens/index.ts'
import type { NewSecret } from './token.ts'

/** A row of `basalt.api_keys`. */
export interface ApiKeyRow {
  readonly id: string
  readonly user_id: string
  readonly app_id: string | null
  readonly name: string
  readonly key_prefix: string
  readonly scope: Scope
  readonly allowed_tables: readonly string[]
  readonly actions: readonly string[]
  readonly last_used_at: Date | null
  readonly expires_at: Date | null
  readonly created_at: Date
  readonly revoked_at: Date | null
  readonly [column: string]: unknown
}

export interface NewApiKey {
  readonly userId: string
  readonly appId: string | undefined
  readonly name: string
  readonly scope: Scope
  readonly allowedTables: readonly string[]
  readonly actions: readonly Action[]
  readonly expiresAt: Date | undefined
}

const columns = sql`id, user_id, app_id, name, key_prefix, scope, allowed_tables, actions, last_used_at, expires_at,
  created_at, revoked_at`

/** Of one user or of all. */
function isOf(userId: string | undefined) {
  return userId === undefined ? sql`true` : sql`user_id = ${userId}`
}

/** Keys of one user or app, or of all. */
export interface KeyFilter {
  readonly userId?: string | undefined
  readonly appId?: string | undefined
}

function matching({ userId, appId }: KeyFilter) {
  return appId === undefined ? isOf(userId) : sql`${isOf(userId)} and app_id = ${appId}`
}

/** The newest first, revoked ones too. */
export async function listApiKeys(
  database: Queryable,
  { limit, offset, ...filter }: KeyFilter & { limit: number; offset: number },
): Promise<readonly ApiKeyRow[]> {
  return await database.many<ApiKeyRow>(sql`
    select ${columns} from basalt.api_keys where ${matching(filter)}
    order by created_at desc, id limit ${limit} offset ${offset}`)
}

export async function countApiKeys(database: Queryable, filter: KeyFilter): Promise<number> {
  const { total } = await database.one<{ total: number }>(
    sql`select count(*)::int as total from basalt.api_keys where ${matching(filter)}`,
  )
  return total
}

/** What of a new key does not exist, or is past. */
export type Fault = 'user' | 'app' | 'expiry'

export async function insertApiKey(
  database: Queryable,
  key: NewApiKey,
  { hash, keyPrefix }: NewSecret,
): Promise<ApiKeyRow | Fault> {
  const expiresAt = key.expiresAt?.toISOString() ?? null
  const insert = database.maybeOne<ApiKeyRow>(sql`
    with created as (
      insert into basalt.api_keys (user_id, app_id, name, key_prefix, scope, allowed_tables, actions, expires_at)
      select ${key.userId}::uuid, ${key.appId ?? null}::uuid, ${key.name}, ${keyPrefix}, ${key.scope},
        ${key.allowedTables}::text[], ${key.actions}::text[], ${expiresAt}::timestamptz
      where ${expiresAt}::timestamptz is null or ${expiresAt}::timestamptz > now()
      returning ${columns}
    ), secret as (
      insert into basalt.api_key_secrets (token_hash, key_id) select ${hash}::bytea, id from created
    )
    select ${columns} from created`)
  const created = await insert.catch((error) => {
    if (codeOf(error) !== '23503') throw error
    return error.constraint === 'api_keys_app_id_fkey' ? ('app' as const) : ('user' as const)
  })
  return created ?? 'expiry'
}

/** @returns whether the key was in force */
export async function revokeApiKey(database: Queryable, id: string, userId?: string): Promise<boolean> {
  const count = await database.count(sql`
    update basalt.api_keys set revoked_at = now()
    where id = ${id} and ${isOf(userId)} and revoked_at is null`)
  return count > 0
}

/** What of a key may be changed; the rest stays. */
export interface KeyChange {
  readonly name?: string | undefined
  readonly actions?: readonly Action[] | undefined
}

export async function updateApiKey(
  database: Queryable,
  id: string,
  { name = null, actions = null }: { readonly [Member in keyof KeyChange]: KeyChange[Member] | null },
  userId?: string,
): Promise<ApiKeyRow | undefined> {
  return await database.maybeOne<ApiKeyRow>(sql`
    update basalt.api_keys set name = coalesce(${name}, name), actions = coalesce(${actions}::text[], actions)
    where id = ${id} and ${isOf(userId)} and revoked_at is null
    returning ${columns}`)
}

/**
 * Gives the key another secret. The one before stays valid for a while; one that is older ends. Call it in a transaction: of
 * several at once the last one and the one before it are left.
 */
export async function rotateApiKey(
  database: Queryable,
  { id, userId, graceSeconds }: { id: string; userId: string | undefined; graceSeconds: number },
  { hash, keyPrefix }: NewSecret,
): Promise<ApiKeyRow | undefined> {
  const key = await database.maybeOne<ApiKeyRow>(sql`
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

/** Revokes keys that were made before the owner of the address signed in by mail. */
export async function revokeApiKeysOf(database: Queryable, userId: string): Promise<void> {
  await database.count(sql`
    update basalt.api_keys set revoked_at = now() where user_id = ${userId} and revoked_at is null`)
}

/** What a secret opens. */
export interface OpenedKey extends OpenedProgram {
  readonly id: string
}

/** What a key `k` of the user `u` and the app `a` opens. */
const openedColumns = sql`
  k.id, k.user_id, a.id as app_id, k.scope, k.allowed_tables, k.actions,
  u.email, u.email_verified_at is not null as is_email_verified, u.is_anonymous,
  a.rate_limit, a.rate_limit_window_seconds`

/** A key that an administrator looks at, in force or not. */
export interface ExaminedKey extends OpenedKey {
  readonly name: string
  readonly revoked_at: Date | null
  readonly is_expired: boolean
  readonly disabled_at: Date | null
}

/** What a key would open by its id, and what keeps it from that. */
export async function examineApiKey(database: Queryable, id: string): Promise<ExaminedKey | undefined> {
  return await database.maybeOne<ExaminedKey>(sql`
    select '' as hash, ${openedColumns}, k.name, k.revoked_at, u.disabled_at,
      coalesce(k.expires_at <= now(), false) as is_expired,
      (extract(epoch from k.expires_at - now()) * 1000)::float8 as expires_in_ms
    from basalt.api_keys k
    join basalt.users u on u.id = k.user_id
    join basalt.apps a on a.id = coalesce(k.app_id, ${defaultAppId}::uuid)
    where k.id = ${id}`)
}

/** Keys in force that have these secrets, by one statement. @param hashes in hexadecimal */
export async function openApiKeys(
  database: Pick<Queryable, 'many'>,
  hashes: readonly string[],
): Promise<OpenedKey[]> {
  return await database.many<OpenedKey>(sql`
    select encode(s.token_hash, 'hex') as hash, ${openedColumns},
      (extract(epoch from least(k.expires_at, s.expires_at) - now()) * 1000)::float8 as expires_in_ms
    from unnest(${hashes}::text[]) as given (hash)
    join basalt.api_key_secrets s on s.token_hash = decode(given.hash, 'hex')
    join basalt.api_keys k on k.id = s.key_id and k.revoked_at is null
    join basalt.users u on u.id = k.user_id and u.disabled_at is null
    join basalt.apps a on a.id = coalesce(k.app_id, ${defaultAppId}::uuid)`)
}

/** Notes when keys were last used. @param ages milliseconds ago, by key */
export async function saveLastUses(database: Queryable, ages: ReadonlyMap<string, number>): Promise<void> {
  const ids = [...ages.keys()]
  const seconds = [...ages.values()].map((ms) => ms / 1000)
  await database.count(sql`
    update basalt.api_keys k set last_used_at = greatest(k.last_used_at, now() - make_interval(secs => used.age))
    from unnest(${ids}::uuid[], ${seconds}::float8[]) as used (id, age)
    where k.id = used.id`)
}
