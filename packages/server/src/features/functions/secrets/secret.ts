import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, component, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

/** Secret without its value, which no response contains. */
export const Secret = component('Secret', Type.Object({ name: Type.String(), updatedAt: timestamp }))
export type Secret = Answered<typeof Secret>

const columns = sql`name, updated_at as "updatedAt"`

/** Maximum number of secrets. Every node holds all of them in memory. */
export const secretLimit = 200

/** Version of all secrets. It changes with every write. */
export const secretsVersion = sql`(select md5(string_agg(name || ' ' || xmin, ',' order by name)) from basalt.secrets)`

export async function listSecrets(database: Queryable): Promise<Secret[]> {
  return await database.many<Secret>(sql`select ${columns} from basalt.secrets order by name`)
}

/** Secret as it is stored. */
export interface SealedSecret {
  readonly name: string
  readonly value: string
}

/** Secret with the time at which its value was set. Another key changes only how it is sealed. */
export interface StoredSecret extends SealedSecret {
  readonly setAt: string
}

export async function readSealedSecrets(database: Queryable): Promise<StoredSecret[]> {
  return await database.many<StoredSecret>(
    sql`select name, value, updated_at::text as "setAt" from basalt.secrets order by name`,
  )
}

/** Stores a secret. Returns undefined if it were one too many. The transaction holds a lock, so that the count is exact. */
export async function upsertSecret(
  transaction: Queryable,
  { name, value }: SealedSecret,
): Promise<Secret | undefined> {
  await transaction.count(sql`select pg_advisory_xact_lock(hashtextextended('basalt secrets', 0))`)
  return await transaction.maybeOne<Secret>(sql`
    insert into basalt.secrets (name, value)
    select ${name}, ${value}
    where (select count(*) from basalt.secrets where name <> ${name}) < ${secretLimit}::int
    on conflict (name) do update set value = excluded.value, updated_at = now()
    returning ${columns}`)
}

/** Replaces a sealed value by the same secret under the current key, unless another node has changed it. */
export async function resealSecret(
  database: Queryable,
  { name, value }: SealedSecret,
  resealed: string,
): Promise<void> {
  await database.count(
    sql`update basalt.secrets set value = ${resealed} where name = ${name} and value = ${value}`,
  )
}

/** Removes a secret. Returns false if there is none. */
export async function deleteSecret(database: Queryable, name: string): Promise<boolean> {
  return (await database.count(sql`delete from basalt.secrets where name = ${name}`)) > 0
}

/** Counts the secrets by the key that sealed them. */
export async function countSecretsByKey(database: Queryable): Promise<ReadonlyMap<string, number>> {
  const rows = await database.many<{ key: string; count: number }>(
    sql`select split_part(value, '.', 1) as key, count(*)::int as count from basalt.secrets group by 1`,
  )
  return new Map(rows.map(({ key, count }) => [key, count]))
}
