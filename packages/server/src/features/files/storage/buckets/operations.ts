import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import { created, noContent, ok, operation } from '../../../../http/operation.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { checkedByHandler, component, refusedWith } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { withoutNulls } from '../../../../lib/without-nulls.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { storageErrors } from '../errors.ts'
import { bucketPattern, bucketParams as params, readBucketName, reservedBuckets } from '../names.ts'
import type { Reaper } from '../reaper.ts'
import * as buckets from './bucket.ts'
import { Bucket, type BucketSettings, bucketSettings } from './bucket.ts'

export interface BucketDeps {
  readonly database: SystemDatabase
  readonly reaper: Pick<Reaper, 'wake'>
}

const common = { guard: 'admin', permission: 'content.write', tag: 'storage' } as const
const collection = '/api/storage/buckets'
const item = `${collection}/:bucket`

const list = operation({
  ...common,
  id: 'storage.listBuckets',
  permission: 'content.read',
  method: 'GET',
  path: collection,
  summary: 'List buckets',
  success: ok(component('BucketList', Type.Object({ items: Type.Array(Bucket) }))),
  async handle({ database }: BucketDeps) {
    return { items: (await buckets.listBuckets(database)).map((row) => withoutNulls<Bucket>(row)) }
  },
})

const create = operation({
  ...common,
  id: 'storage.createBucket',
  method: 'POST',
  path: collection,
  summary: 'Create a bucket',
  body: Type.Object({
    name: refusedWith(
      { missing: storageErrors.bucketNameRequired },
      checkedByHandler(
        { pattern: bucketPattern, not: { enum: reservedBuckets } },
        Type.String({ minLength: 1 }),
      ),
    ),
    ...bucketSettings,
  }),
  success: created(Bucket),
  async handle({ database }: BucketDeps, { body: { name: given, ...settings }, origin }) {
    const name = readBucketName(given)
    requireFittingLimits(settings)
    return await database.transaction(async (transaction) => {
      const row = await buckets.insertBucket(transaction, name, settings)
      if (row === undefined) throw storageErrors.bucketExists()
      await audit(transaction, 'storage.create_bucket', name, settings, origin)
      return withoutNulls<Bucket>(row)
    })
  },
})

const update = operation({
  ...common,
  id: 'storage.updateBucket',
  method: 'PUT',
  path: item,
  summary: 'Change a bucket',
  params,
  body: Type.Object(bucketSettings),
  success: ok(Bucket),
  async handle({ database, reaper }: BucketDeps, { params: { bucket: name }, body: settings, origin }) {
    requireFittingLimits(settings)
    const row = await database.transaction(async (transaction) => {
      const before = await buckets.findBucket(transaction, name)
      const row = await buckets.updateBucket(transaction, name, settings)
      if (row === undefined) throw storageErrors.bucketNotFound()
      if (before?.public === true && !row.public) await buckets.purgeBucket(transaction, name)
      await audit(transaction, 'storage.update_bucket', name, settings, origin)
      return row
    })
    reaper.wake()
    return withoutNulls<Bucket>(row)
  },
})

const remove = operation({
  ...common,
  id: 'storage.deleteBucket',
  method: 'DELETE',
  path: item,
  summary: 'Delete a bucket',
  params,
  query: Type.Object({
    force: Type.Optional(
      Type.Unsafe<'true' | 'false'>(
        Type.String({ pattern: '^(true|false)$', description: 'true: with its objects.' }),
      ),
    ),
  }),
  success: noContent,
  async handle({ database, reaper }: BucketDeps, { params: { bucket: name }, query, origin }) {
    await database.transaction(async (transaction) => {
      if (!(await buckets.lockBucket(transaction, name))) throw storageErrors.bucketNotFound()
      if (query.force !== 'true' && (await buckets.hasObjects(transaction, name))) {
        throw storageErrors.bucketNotEmpty()
      }
      const objects = await buckets.deleteObjects(transaction, name)
      await buckets.deleteBucket(transaction, name)
      await audit(transaction, 'storage.delete_bucket', name, { objects }, origin)
    })
    reaper.wake()
  },
})

/** Administration of buckets. */
export const bucketOperations = [list, create, update, remove]

async function audit(
  transaction: Queryable,
  action: string,
  target: string,
  detail: object,
  origin: RequestOrigin,
): Promise<void> {
  await recordAudit(transaction, { actor: 'admin', action, target, detail: { ...detail }, origin })
}

/** @throws AppError invalid_bucket_limit */
function requireFittingLimits({ maxFileSize, allowedTypes }: BucketSettings): void {
  const size = maxFileSize ?? 1
  if (size < 1) throw storageErrors.invalidBucketLimit('maxFileSize must be at least 1')
  if (size > Number.MAX_SAFE_INTEGER) {
    throw storageErrors.invalidBucketLimit(`maxFileSize must be at most ${Number.MAX_SAFE_INTEGER}`)
  }
  const wrong = allowedTypes?.find((type) => !/^[a-z0-9][\w.+-]*\/([a-z0-9][\w.+-]*|\*)$/.test(type))
  if (wrong !== undefined) {
    throw storageErrors.invalidBucketLimit(
      `allowedTypes: ${JSON.stringify(wrong)} is not a media type such as image/png or image/*`,
    )
  }
}
