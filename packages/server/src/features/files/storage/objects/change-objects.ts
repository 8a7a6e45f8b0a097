import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { Answer } from '../../../../database/connection/message.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import type { IdempotencyKey, WritesOnce } from '../../../data/idempotency/index.ts'
import type { Actor } from '../actor.ts'
import { storageErrors } from '../errors.ts'
import type { StorageObject } from '../object.ts'
import type { Reaper } from '../reaper.ts'
import { isDuplicate, translateFailure } from './failures.ts'
import type { ObjectLocation, StoredObject, WriteCondition } from './object-queries.ts'
import * as queries from './object-queries.ts'
import type { ObjectReader } from './read-objects.ts'

export interface ChangerDeps {
  readonly reader: Pick<ObjectReader, 'lookUp' | 'show'>
  readonly reaper: Pick<Reaper, 'wake'>
  readonly writesOnce: WritesOnce
}

/** Error for an object that was replaced, moved or deleted since it was read. */
class Outdated extends Error {}

/** Maximum number of attempts. Each reads the outdated object again. */
const attempts = 3

/** Deletes and moves objects, whose bytes stay as they are. */
export function createObjectChanger({ reader, reaper, writesOnce }: ChangerDeps) {
  /** @param read its errors undo a write with a key. Without a key, it throws only when nothing was written */
  async function write<Result>(
    { scope }: Pick<Actor, 'scope'>,
    steps: readonly Step[],
    key: IdempotencyKey | undefined,
    read: (answers: readonly Answer[]) => Result,
  ): Promise<Result> {
    return await writesOnce.run({ key, scope, steps, options: { isRead: false } }, read)
  }

  return {
    /** @throws AppError file_not_found, insufficient_storage_permissions, precondition_failed */
    async delete(
      actor: Actor,
      { bucket, name }: ObjectLocation,
      {
        condition = {},
        key,
      }: { readonly condition?: WriteCondition; readonly key?: IdempotencyKey | undefined } = {},
    ): Promise<void> {
      const deleteOnce = async () => {
        const { isPublic, object } = await reader.lookUp(bucket, name)
        if (object === undefined) throw storageErrors.fileNotFound()
        const steps = [
          queries.asCaller(queries.seeObject(bucket, name)),
          queries.asCaller(queries.deleteObject(bucket, name, condition)),
          queries.asLogin(queries.findByKey(object.key)),
        ]
        return await write(actor, steps, key, ([seen, deleted, found]) => {
          if ((deleted?.count ?? 0) > 0) return null
          const now = queries.readStored(queries.firstValue(found))
          if (now === undefined || !isSame(now.object, object)) throw new Outdated()
          if (!isPublic && (seen?.count ?? 0) === 0) throw storageErrors.fileNotFound()
          if (!isExpected(object, condition)) throw httpErrors.preconditionFailed()
          throw storageErrors.insufficientStoragePermissions()
        })
      }
      await writesOnce.unlessMade(key, async () => {
        for (let attempt = 1; attempt <= attempts; attempt += 1) {
          try {
            return await deleteOnce()
          } catch (error) {
            if (!(error instanceof Outdated)) throw translateFailure(error)
          }
        }
        // Replaced again and again.
        throw storageErrors.fileNotFound()
      })
      reaper.wake()
    },

    /**
     * Moves an object as it was read.
     *
     * @returns undefined when it has been replaced, moved or deleted since
     * @throws AppError object_exists, insufficient_storage_permissions, bucket_not_found
     */
    async move(
      actor: Actor,
      object: StoredObject,
      to: ObjectLocation,
      key: IdempotencyKey | undefined,
    ): Promise<StorageObject | undefined> {
      const steps = [
        queries.asCaller(queries.setLimits(queries.unlimited)),
        queries.asCaller(queries.moveObject(object, to)),
        queries.asLogin(queries.findByKey(object.key)),
      ]
      try {
        const shown = await write(actor, steps, key, ([, moved, found]) => {
          const now = queries.readStored(queries.firstValue(found))
          const isMoved = (moved?.count ?? 0) > 0
          if (now === undefined || (!isMoved && !isSame(now.object, object))) throw new Outdated()
          if (!isMoved) throw storageErrors.insufficientStoragePermissions()
          return reader.show(now.object, now.isPublic)
        })
        reaper.wake()
        return shown
      } catch (error) {
        if (error instanceof Outdated) return undefined
        throw isDuplicate(error) ? storageErrors.objectExists() : translateFailure(error)
      }
    },
  }
}

/** Returns true if an object is the one that a deletion is about. */
function isExpected(
  { etag, updatedAt }: StoredObject,
  { ifMatch, unmodifiedSince }: WriteCondition,
): boolean {
  const isKnown = !Array.isArray(ifMatch) || ifMatch.includes(etag)
  return (
    isKnown && (unmodifiedSince === undefined || Math.floor(Date.parse(updatedAt) / 1000) <= unmodifiedSince)
  )
}

/** Returns true if an object still has its earlier bucket, name and content. */
function isSame(now: StoredObject, before: StoredObject): boolean {
  return now.bucket === before.bucket && now.name === before.name && now.key === before.key
}
