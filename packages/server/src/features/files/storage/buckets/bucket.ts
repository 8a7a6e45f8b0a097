import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { type Answered, checkedByHandler, component, nullable, timestamp } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import type { RowOf } from '../../../../lib/without-nulls.ts'

export const Bucket = component(
  'Bucket',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    name: Type.String(),
    public: Type.Boolean({ description: 'Everybody may read its objects by their addresses.' }),
    maxFileSize: Type.Optional(Type.Integer({ description: 'Bytes; as configured when absent.' })),
    allowedTypes: Type.Optional(Type.Array(Type.String(), { description: 'Media types; all when absent.' })),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
)
export type Bucket = Answered<typeof Bucket>
export type BucketRow = RowOf<Bucket>

const mediaType = Type.String({ pattern: '^[a-z0-9][A-Za-z0-9_.+-]*/([a-z0-9][A-Za-z0-9_.+-]*|\\*)$' })

/** Members of a request that sets limits of a bucket; null removes a limit. */
export const bucketSettings = {
  public: Type.Optional(Type.Boolean()),
  maxFileSize: Type.Optional(
    nullable(checkedByHandler({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, Type.Integer()), {
      description: 'Bytes; null: as configured.',
    }),
  ),
  allowedTypes: Type.Optional(
    nullable(checkedByHandler({ items: mediaType }, Type.Array(Type.String(), { maxItems: 100 })), {
      description: 'Media types such as `image/png` and `image/*`; null: all.',
    }),
  ),
}
export type BucketSettings = Answered<ReturnType<typeof Type.Object<typeof bucketSettings>>>

const columns = sql`
  id, name, is_public as "public", max_file_size::float8 as "maxFileSize", allowed_types as "allowedTypes",
  created_at as "createdAt", updated_at as "updatedAt"`

export async function listBuckets(database: Queryable): Promise<BucketRow[]> {
  return await database.many<BucketRow>(sql`select ${columns} from basalt.buckets order by name`)
}

export async function findBucket(database: Queryable, name: string): Promise<BucketRow | undefined> {
  return await database.maybeOne<BucketRow>(
    sql.prepared(sql`select ${columns} from basalt.buckets where name = ${name}`),
  )
}

/** Inserts a bucket unless the name is already in use. */
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

/** Changes the settings that are given. */
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

/** Has the copies of all objects removed, which everybody could read until now. */
export async function purgeBucket(transaction: Queryable, name: string): Promise<void> {
  await transaction.count(sql`
    insert into basalt.storage_purges (bucket, name) select bucket, name from basalt.objects where bucket = ${name}`)
}
