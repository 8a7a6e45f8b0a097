import type { SystemDatabase } from '../../../../database/system-database.ts'
import { AppError } from '../../../../lib/errors.ts'
import type { Actor } from '../actor.ts'
import type { ByteStore } from '../bytes/store.ts'
import { storageErrors } from '../errors.ts'
import type { ShownObject } from '../show.ts'
import type { Place } from './object-queries.ts'
import type { ObjectService } from './objects.ts'
import { withStagedBytes } from './staging.ts'
import type { Uploader } from './upload.ts'

export interface CopierDeps {
  readonly database: SystemDatabase
  readonly store: ByteStore
  readonly objects: ObjectService
  readonly uploader: Uploader
}

/** An object that was replaced since it was looked at is looked at again. */
const attempts = 3

export type Copier = ReturnType<typeof createCopier>

/** Objects under another name, in the same bucket or another one, whose limits they have to fit. */
export function createCopier({ database, store, objects, uploader }: CopierDeps) {
  return {
    /** Never replaces an object. @throws AppError file_not_found, object_exists, file_too_large, … */
    async move(actor: Actor, from: Place, to: Place): Promise<ShownObject> {
      for (let attempt = 1; attempt <= attempts; attempt += 1) {
        const { object } = await objects.getReadable(actor, from.bucket, from.name)
        if (from.bucket !== to.bucket) {
          await uploader.requireFitting(to.bucket, object.size, object.contentType)
        }
        const moved = await objects.move(actor, object, to)
        if (moved !== undefined) return moved
      }
      // Replaced again and again.
      throw storageErrors.fileNotFound()
    },

    /** With bytes of its own. @throws AppError file_not_found, object_exists, storage_quota_exceeded, … */
    async copy(actor: Actor, from: Place, to: Place): Promise<ShownObject> {
      const { object } = await objects.getReadable(actor, from.bucket, from.name)
      const { size, contentType } = object
      await uploader.requireFitting(to.bucket, size, contentType)
      const bytes = await store.read(object.key)
      // Replaced since it was looked at.
      if (bytes === undefined) throw storageErrors.fileNotFound()
      try {
        const { timeoutSeconds } = uploader
        const committed = await withStagedBytes({ database, store }, bytes, timeoutSeconds, ({ key }) =>
          objects.commitObject(actor, { ...to, key, size, contentType }, { isNew: true }),
        )
        return committed.object
      } catch (error) {
        throw isPreconditionFailure(error) ? storageErrors.objectExists() : error
      }
    },
  }
}

function isPreconditionFailure(error: unknown): boolean {
  return error instanceof AppError && error.kind === 'precondition_failed'
}
