import { createHash, type Hash } from 'node:crypto'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import type { AppError } from '../../../../lib/errors.ts'
import { type IdempotencyKey, withBody } from '../../../data/idempotency/index.ts'
import type { Actor } from '../actor.ts'
import { type BucketRow, findBucket } from '../buckets/bucket.ts'
import type { ByteStore } from '../bytes/store.ts'
import { storageErrors } from '../errors.ts'
import { requireInForce } from '../in-force.ts'
import type { CommitOptions, Committed } from './commit-object.ts'
import { allowsType, contentTypeOf, sniffedBytes } from './content-type.ts'
import type { WriteCondition } from './object-queries.ts'
import type { ObjectService } from './objects.ts'
import { withStagedBytes } from './staging.ts'

export interface UploadDeps {
  readonly database: SystemDatabase
  readonly store: ByteStore
  readonly objects: Pick<ObjectService, 'commitObject'>
  readonly maxFileSize: number
  readonly timeoutSeconds: number
}

export interface Upload {
  readonly bucket: string
  /** Name, read once the bytes have arrived: in a form the name may follow the file. */
  readonly name: () => Promise<string>
  readonly declaredType: string | undefined
  readonly source: AsyncIterable<Buffer>
  readonly condition?: WriteCondition
  /** Idempotency key of an upload that may be sent again. */
  readonly key?: IdempotencyKey | undefined
  /** Maximum duration in seconds. Default: the configured value. */
  readonly seconds?: number
  readonly completes?: CommitOptions['completes']
  /** Rejects an upload whose permission ended while its bytes arrived. Default: checks the credentials of the actor. */
  readonly requireAllowed?: (() => Promise<unknown>) | undefined
}

/** An upload that takes longer is checked again before it is kept. */
const freshMs = 1000

export type Uploader = ReturnType<typeof createUploader>

/** Creates the service for uploads that come whole in one request. */
export function createUploader({ database, store, objects, maxFileSize, timeoutSeconds }: UploadDeps) {
  async function getBucket(name: string): Promise<BucketRow> {
    const bucket = await findBucket(database, name)
    if (bucket === undefined) throw storageErrors.bucketNotFound()
    return bucket
  }

  return {
    timeoutSeconds,

    /** Returns the maximum size of a file in the bucket, in bytes. @throws AppError bucket_not_found */
    async limitOf(name: string): Promise<number> {
      return limitOf(await getBucket(name))
    },

    /**
     * Rejects a file that the bucket does not accept as it is.
     *
     * @throws AppError bucket_not_found, file_too_large, file_type_not_allowed
     */
    async requireFitting(name: string, size: number, contentType: string): Promise<void> {
      const bucket = await getBucket(name)
      if (size > limitOf(bucket)) throw storageErrors.fileTooLarge(limitOf(bucket))
      requireAllowedType(bucket, contentType)
    },

    /**
     * Streams a file into the store and makes it an object.
     *
     * @throws AppError bucket_not_found, file_too_large, file_type_not_allowed, those of `requireAllowed` and of `commitObject`
     */
    async receive(
      actor: Actor,
      {
        bucket,
        name,
        declaredType,
        source,
        condition,
        key: once,
        seconds = timeoutSeconds,
        completes,
        requireAllowed = () => requireInForce(database, actor),
      }: Upload,
    ): Promise<Committed> {
      const begunAt = performance.now()
      const found = await getBucket(bucket)
      const head = new Head()
      const hash = once && createHash('sha256')
      const limit = limitOf(found)
      const limited = limitBytes(source, limit, () => storageErrors.fileTooLarge(limit))
      const bytes = head.read(hashed(limited, hash))
      return await withStagedBytes({ database, store }, bytes, seconds, async (staged) => {
        const objectName = await name()
        const contentType = contentTypeOf(head.bytes, declaredType, objectName)
        requireAllowedType(found, contentType)
        const content = { bucket, name: objectName, key: staged.key, size: staged.size, contentType }
        const digest = JSON.stringify([hash?.digest('hex'), content.name, contentType])
        const key = once && withBody(once, digest)
        if (performance.now() - begunAt > freshMs) await requireAllowed()
        return await objects.commitObject(actor, content, {
          condition,
          completes,
          key,
          unused: staged.discard,
        })
      })
    },
  }

  function limitOf({ maxFileSize: own }: BucketRow): number {
    return Math.min(own ?? maxFileSize, maxFileSize)
  }
}

function requireAllowedType({ allowedTypes: allowed }: BucketRow, contentType: string): void {
  if (allowed !== null && !allowsType(allowed, contentType)) {
    throw storageErrors.fileTypeNotAllowed(contentType)
  }
}

/** Passes a stream on up to a number of bytes. */
export async function* limitBytes(
  source: AsyncIterable<Buffer>,
  limit: number,
  exceeded: () => AppError,
): AsyncIterable<Buffer> {
  let size = 0
  for await (const chunk of source) {
    size += chunk.length
    if (size > limit) throw exceeded()
    if (chunk.length > 0) yield chunk
  }
}

async function* hashed(source: AsyncIterable<Buffer>, hash: Hash | undefined): AsyncIterable<Buffer> {
  for await (const chunk of source) {
    hash?.update(chunk)
    yield chunk
  }
}

/** Keeps the first bytes of a stream that passes. */
class Head {
  bytes: Buffer = Buffer.alloc(0)

  async *read(source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const chunk of source) {
      const missing = sniffedBytes - this.bytes.length
      if (missing > 0) this.bytes = Buffer.concat([this.bytes, chunk.subarray(0, missing)])
      yield chunk
    }
  }
}
