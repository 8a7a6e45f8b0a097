import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { defaultAppId } from '../../../http/access/identity.ts'
import type { OpenedProgram } from '../opaque-tokens/index.ts'

/** Access that the secret of a key grants. */
export interface OpenedKey extends OpenedProgram {
  readonly id: string
}

/** Columns for the access of a key `k`, with its user `u` and its app `a`. */
const openedColumns = sql`
  k.id, k.user_id, a.id as app_id, k.scope, k.allowed_tables, k.actions,
  u.email, u.email_verified_at is not null as is_email_verified, u.is_anonymous,
  a.rate_limit, a.rate_limit_window_seconds`

/** Key that an administrator examines, active or not. */
export interface ExaminedKey extends OpenedKey {
  readonly name: string
  readonly revoked_at: Date | null
  readonly is_expired: boolean
  readonly disabled_at: Date | null
}

/** Returns the access that a key grants, by its id, and the reasons why it is not active. */
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

/** Returns the active keys that have these secrets, by one statement. @param hashes in hexadecimal */
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

/** Saves when keys were last used. @param ages milliseconds ago, by key */
export async function saveLastUses(database: Queryable, ages: ReadonlyMap<string, number>): Promise<void> {
  const ids = [...ages.keys()]
  const seconds = [...ages.values()].map((ms) => ms / 1000)
  await database.count(sql`
    update basalt.api_keys k set last_used_at = greatest(k.last_used_at, now() - make_interval(secs => used.age))
    from unnest(${ids}::uuid[], ${seconds}::float8[]) as used (id, age)
    where k.id = used.id`)
}
