import { sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import type { StagedBytes } from '../objects/staging.ts'

export interface Variant {
  readonly key: string
  readonly size: number
}

/** Finds a variant made before, and records once a day that it is still requested. */
export async function findVariant(
  database: SystemDatabase,
  sourceKey: string,
  parameters: string,
): Promise<Variant | undefined> {
  const found = await database.maybeOne<Variant & { isStale: boolean }>(sql`
    select key, size::float8 as size, used_at < now() - interval '1 day' as "isStale" from basalt.image_variants
    where source_key = ${sourceKey} and parameters = ${parameters}`)
  if (found?.isStale) {
    await database.count(sql`update basalt.image_variants set used_at = now() where key = ${found.key}`)
  }
  return found
}

/**
 * Keeps what was made, unless another node was first or the image has ended meanwhile.
 *
 * @returns whether it was kept
 */
export async function keepVariant(
  database: SystemDatabase,
  sourceKey: string,
  parameters: string,
  { key, size }: StagedBytes,
): Promise<boolean> {
  const kept = await database.count(sql`
    with source as (
      select key from basalt.stored_bytes where key = ${sourceKey} and state = 'committed' for share
    ), kept as (
      insert into basalt.image_variants (source_key, parameters, key, size)
      select source.key, ${parameters}, ${key}, ${size}::bigint from source
      on conflict do nothing returning key
    )
    update basalt.stored_bytes b set state = 'committed', expires_at = null
    from kept where b.key = kept.key and b.state = 'staged'`)
  return kept === 1
}

/** Deletes variants without a request in a month, and then the least recently requested ones beyond the limit. */
export async function limitImageVariants(database: SystemDatabase, limitBytes: number): Promise<void> {
  await database.count(sql`
    delete from basalt.image_variants where key in (
      select key from (
        select key, used_at, sum(size) over (order by used_at desc, key) as total from basalt.image_variants
      ) v where v.total > ${limitBytes}::bigint or v.used_at < now() - interval '30 days'
    )`)
}
