import type { SystemDatabase } from '../../../../database/system-database.ts'
import { AppError } from '../../../../lib/errors.ts'
import { type IdempotencyKey, type WritesOnce, withBody } from '../../../data/idempotency/index.ts'
import type { Actor } from '../actor.ts'
import type { ByteStore } from '../bytes/store.ts'
import { storageErrors } from '../errors.ts'
import type { StorageObject } from '../object.ts'
import type { ObjectLocation } from './object-queries.ts'
import type { ObjectService } from './objects.ts'
import { translateStoreFailure, withStagedBytes } from './staging.ts'
import type { Uploader } from './upload.ts'

export interface CopierDeps {
  readonly database: SystemDatabase
  readonly store: ByteStore
  readonly objects: ObjectService
  readonly uploader: Uploader
  readonly writesOnce: WritesOnce
}

/** Maximum number of attempts. An object that was replaced since it was read is read again. */
const attempts = 3

export type Copier = ReturnType<typeof createCopier>

/** Creates the service that moves and copies objects, within a bucket or to another one. They must fit its limits. */
export function createCopier({ database, store, objects, uploader, writesOnce }: CopierDeps) {
  async function move(
    actor: Actor,
    from: ObjectLocation,
    to: ObjectLocation,
    key: IdempotencyKey | undefined,
  ) {
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const { object } = await objects.getReadable(actor, from.bucket, from.name)
      if (from.bucket !== to.bucket) {
        await uploader.requireFitting(to.bucket, object.size, object.contentType)
      }
      const moved = await objects.move(actor, object, to, key)
      if (moved !== undefined) return moved
    }
    // Replaced again and again.
    throw storageErrors.fileNotFound()
  }

  async function copy(
    actor: Actor,
    from: ObjectLocation,
    to: ObjectLocation,
    key: IdempotencyKey | undefined,
  ) {
    const { object } = await objects.getReadable(actor, from.bucket, from.name)
    const { size, contentType } = object
    await uploader.requireFitting(to.bucket, size, contentType)
    const bytes = await store.read(object.key).catch((error) => {
      throw translateStoreFailure(error)
    })
    // The object was replaced since it was read.
    if (bytes === undefined) throw storageErrors.fileNotFound()
    try {
      const { timeoutSeconds } = uploader
      return await withStagedBytes({ database, store }, bytes, timeoutSeconds, (staged) => {
        const content = { ...to, key: staged.key, size, contentType }
        const condition = { isNew: true }
        return objects.commitObject(actor, content, { condition, key, unused: staged.discard })
      })
    } catch (error) {
      throw isPreconditionFailure(error) ? storageErrors.objectExists() : error
    }
  }

  return {
    /** Moves an object and never replaces another one. @throws AppError file_not_found, object_exists, file_too_large, … */
    async move(
      actor: Actor,
      from: ObjectLocation,
      to: ObjectLocation,
      once?: IdempotencyKey,
    ): Promise<StorageObject> {
      const key = keyFor(once, to)
      return await writesOnce.unlessMade(key, () => move(actor, from, to, key))
    },

    /** Copies an object with its bytes. @throws AppError file_not_found, object_exists, storage_quota_exceeded, … */
    async copy(
      actor: Actor,
      from: ObjectLocation,
      to: ObjectLocation,
      once?: IdempotencyKey,
    ): Promise<StorageObject> {
      const key = keyFor(once, to)
      const { object } = await writesOnce.unlessMade(key, () => copy(actor, from, to, key))
      return object
    },
  }
}

/** Returns the key of a request with this destination. */
function keyFor(
  key: IdempotencyKey | undefined,
  { bucket, name }: ObjectLocation,
): IdempotencyKey | undefined {
  return key && withBody(key, JSON.stringify([bucket, name]))
}

function isPreconditionFailure(error: unknown): boolean {
  return error instanceof AppError && error.kind === 'precondition_failed'
}
