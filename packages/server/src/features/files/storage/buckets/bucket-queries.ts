import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'

export interface BucketRow extends Record<string, unknown> {
  readonly id: string
  readonly name: string
  readonly is_public: boolean
  /** Null: as configured. */
  readonly max_file_size: number | null
  /** Null: all. */
  readonly allowed_types: string[] | null
  readonly created_at: Date
  readonly updated_at: Date
}

export interface BucketSettings {
  readonly public?: boolean | undefined
  readonly maxFileSize?: number | null | undefined
  readonly allowedTypes?: readonly string[] | null | undefined
}

const columns = sql`
  id, name, is_public, max_file_size::float8 as max_file_size, allowed_types, created_at, updated_at`

export async function listBuckets(database: Queryable): Promise<BucketRow[]> {
  return await database.many<BucketRow>(sql`select ${columns} from basalt.buckets order by name`)
}

export async function findBucket(database: Queryable, name: string): Promise<BucketRow | undefined> {
  return await database.maybeOne<BucketRow>(
    sql.prepared(sql`select ${columns} from basalt.buckets where name = ${name}`),
  )
}

/** Undefined when the name is taken. */
export async function insertBucket(
  database: Queryable,
  name: string,
  { public: isPublic = false, maxFileSize = null, allowedTypes = null }: BucketSettings,
): Promise<BucketRow | undefined> {
  return await database.maybeOne<BucketRow>(sql`
    insert into basalt.buckets (name, is_public, max_file_size, allowed_types)
    values (${name}, ${isPublic}, ${maxFileSize}, ${allowedTypes}::text[])
    on conflict (name) do nothing
    returning ${columns}`)
}

/** What is undefined stays. */
export async function updateBucket(
  database: Queryable,
  name: string,
  settings: BucketSettings,
): Promise<BucketRow | undefined> {
  const { maxFileSize, allowedTypes } = settings
  return await database.maybeOne<BucketRow>(sql`
    update basalt.buckets
    set is_public = coalesce(${settings.public ?? null}::bool, is_public),
      max_file_size = ${maxFileSize === undefined ? sql`max_file_size` : sql`${maxFileSize}::bigint`},
      allowed_types = ${allowedTypes === undefined ? sql`allowed_types` : sql`${allowedTypes}::text[]`},
      updated_at = now()
    where name = ${name}
    returning ${columns}`)
}

/** Keeps objects from being added to the bucket until the transaction ends; false when there is none. */
export async function lockBucket(transaction: Queryable, name: string): Promise<boolean> {
  return (await transaction.count(sql`select from basalt.buckets where name = ${name} for update`)) > 0
}

export async function hasObjects(transaction: Queryable, name: string): Promise<boolean> {
  return (await transaction.count(sql`select from basalt.objects where bucket = ${name} limit 1`)) > 0
}

export async function deleteObjects(transaction: Queryable, name: string): Promise<number> {
  return await transaction.count(sql`delete from basalt.objects where bucket = ${name}`)
}

export async function deleteBucket(transaction: Queryable, name: string): Promise<void> {
  await transaction.count(sql`delete from basalt.buckets where name = ${name}`)
}

/** Everybody could read them until now. */
export async function purgeBucket(transaction: Queryable, name: string): Promise<void> {
  await transaction.count(sql`
    insert into basalt.storage_purges (bucket, name) select bucket, name from basalt.objects where bucket = ${name}`)
}
