import type { SystemDatabase } from '../../../../database/system-database.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { storageErrors } from '../errors.ts'
import { readBucketName } from '../names.ts'
import type { Reaper } from '../reaper.ts'
import * as queries from './bucket-queries.ts'

export interface Bucket {
  readonly id: string
  readonly name: string
  readonly public: boolean
  readonly maxFileSize?: number
  readonly allowedTypes?: readonly string[]
  readonly createdAt: string
  readonly updatedAt: string
}

export type BucketService = ReturnType<typeof createBucketService>

/** What administrators do with buckets. */
export function createBucketService(database: SystemDatabase, reaper: Pick<Reaper, 'wake'>) {
  return {
    async list(): Promise<Bucket[]> {
      return (await queries.listBuckets(database)).map(showBucket)
    },

    /** @throws AppError bucket_name_required, invalid_bucket_name, invalid_bucket_limit, bucket_exists */
    async create(
      { name: given, ...settings }: queries.BucketSettings & { readonly name?: string | undefined },
      origin: RequestOrigin,
    ): Promise<Bucket> {
      const name = readBucketName(given)
      requireFittingLimits(settings)
      return await database.transaction(async (transaction) => {
        const row = await queries.insertBucket(transaction, name, settings)
        if (row === undefined) throw storageErrors.bucketExists()
        const detail = { ...settings }
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'storage.create_bucket',
          target: name,
          detail,
          origin,
        })
        return showBucket(row)
      })
    },

    /** @throws AppError bucket_not_found, invalid_bucket_limit */
    async update(name: string, settings: queries.BucketSettings, origin: RequestOrigin): Promise<Bucket> {
      requireFittingLimits(settings)
      const bucket = await database.transaction(async (transaction) => {
        const before = await queries.findBucket(transaction, name)
        const row = await queries.updateBucket(transaction, name, settings)
        if (row === undefined) throw storageErrors.bucketNotFound()
        if (before?.is_public === true && !row.is_public) await queries.purgeBucket(transaction, name)
        const detail = { ...settings }
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'storage.update_bucket',
          target: name,
          detail,
          origin,
        })
        return showBucket(row)
      })
      reaper.wake()
      return bucket
    },

    /** @throws AppError bucket_not_found, bucket_not_empty */
    async delete(name: string, isForced: boolean, origin: RequestOrigin): Promise<void> {
      await database.transaction(async (transaction) => {
        if (!(await queries.lockBucket(transaction, name))) throw storageErrors.bucketNotFound()
        if (!isForced && (await queries.hasObjects(transaction, name))) throw storageErrors.bucketNotEmpty()
        const objects = await queries.deleteObjects(transaction, name)
        await queries.deleteBucket(transaction, name)
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'storage.delete_bucket',
          target: name,
          detail: { objects },
          origin,
        })
      })
      reaper.wake()
    },
  }
}

/** @throws AppError invalid_bucket_limit */
function requireFittingLimits({ maxFileSize, allowedTypes }: queries.BucketSettings): void {
  if (maxFileSize !== undefined && maxFileSize !== null && maxFileSize < 1) {
    throw storageErrors.invalidBucketLimit('maxFileSize must be at least 1')
  }
  if (maxFileSize !== undefined && maxFileSize !== null && maxFileSize > Number.MAX_SAFE_INTEGER) {
    throw storageErrors.invalidBucketLimit(`maxFileSize must be at most ${Number.MAX_SAFE_INTEGER}`)
  }
  const wrong = allowedTypes?.find((type) => !/^[a-z0-9][\w.+-]*\/([a-z0-9][\w.+-]*|\*)$/.test(type))
  if (wrong !== undefined) {
    throw storageErrors.invalidBucketLimit(
      `allowedTypes: ${JSON.stringify(wrong)} is not a media type such as image/png or image/*`,
    )
  }
}

function showBucket(row: queries.BucketRow): Bucket {
  return {
    id: row.id,
    name: row.name,
    public: row.is_public,
    ...(row.max_file_size === null ? {} : { maxFileSize: row.max_file_size }),
    ...(row.allowed_types === null ? {} : { allowedTypes: row.allowed_types }),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
