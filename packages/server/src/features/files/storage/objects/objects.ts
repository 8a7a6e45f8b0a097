import type { Answer } from '../../../../database/message.ts'
import type { Step, UserDatabase } from '../../../../database/user-database.ts'
import type { Actor } from '../actor.ts'
import { newKey } from '../bytes/store.ts'
import { storageErrors } from '../errors.ts'
import type { Reaper } from '../reaper.ts'
import { type ObjectRow, type ShownObject, showObject, type UrlOf } from '../show.ts'
import { isDenied, isDuplicate, isPassedTrial, translateFailure } from './failures.ts'
import type { Content, ListWindow, Place, StoredObject, WriteCondition } from './object-queries.ts'
import * as queries from './object-queries.ts'

export interface ObjectsDeps {
  readonly database: UserDatabase
  readonly urlOf: UrlOf
  readonly defaultQuotaMb: number
  readonly reaper: Pick<Reaper, 'wake'>
}

export interface ObjectPage {
  readonly items: readonly ShownObject[]
  readonly prefixes?: readonly string[]
  readonly totalItems: number
}

export interface Committed {
  readonly object: ShownObject
  readonly etag: string
  readonly isNew: boolean
}

/** Between the look at an object and the write another one may have been made; then the write looks again. */
const attempts = 3

export type ObjectService = ReturnType<typeof createObjectService>

/** Objects as rows, under the policies of the operator. Their bytes are elsewhere. */
export function createObjectService({ database, urlOf, defaultQuotaMb, reaper }: ObjectsDeps) {
  async function run(
    { scope }: Pick<Actor, 'scope'>,
    steps: readonly Step[],
    isRead: boolean,
  ): Promise<readonly Answer[]> {
    return await database.run(scope, steps, { isRead })
  }

  /**
   * In bytes, for `setQuota`. Administrators are not held to quotas: they could not make room. Nor are programs that act
   * for no user.
   */
  function quotaOf({ userId }: Actor): string {
    return userId === null ? '' : String(defaultQuotaMb * 1024 * 1024)
  }

  /** As the login role, without policies: what the caller may see of it is decided next. */
  async function lookUp(bucket: string, name: string) {
    const lookup = queries.asCaller(queries.lookUpObject(bucket, name))
    const [answer] = await run({ scope: { kind: 'unrestricted' } }, [lookup], true)
    const text = queries.firstValue(answer)
    if (text === null) throw storageErrors.bucketNotFound()
    const { isPublic, object } = JSON.parse(text) as { isPublic: boolean; object: StoredObject | null }
    return { isPublic, object: object === null ? undefined : queries.readObject(object) }
  }

  /** Whether policies show the object. A request without a token may have no right to ask. */
  async function isVisible(actor: Actor, bucket: string, name: string): Promise<boolean> {
    try {
      const [answer] = await run(actor, [queries.asCaller(queries.seeObject(bucket, name))], true)
      return queries.firstValue(answer) !== null
    } catch (error) {
      if (isDenied(error)) return false
      throw error
    }
  }

  async function show(row: ObjectRow, isPublic: boolean): Promise<ShownObject> {
    const { id, bucket, name, size, contentType, userId, createdAt, updatedAt } = row
    const visible = { id, bucket, name, size, contentType, userId, createdAt, updatedAt }
    return showObject(visible, isPublic ? urlOf : undefined)
  }

  /** The object, which is readable: in a public bucket, or by a policy. */
  async function getReadable(
    actor: Actor,
    bucket: string,
    name: string,
  ): Promise<{ readonly isPublic: boolean; readonly object: StoredObject }> {
    const { isPublic, object } = await lookUp(bucket, name)
    const isReadable = isPublic || (object !== undefined && (await isVisible(actor, bucket, name)))
    // Whether there is such a file is for those to know who may read it.
    if (!isReadable && actor.scope.kind === 'anonymous') throw storageErrors.missingAuthToken()
    if (!isReadable || object === undefined) throw storageErrors.fileNotFound()
    return { isPublic, object }
  }

  /** Writes an object, again when one of this name was made meanwhile. */
  async function write<Result>(condition: WriteCondition, work: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work()
      } catch (error) {
        if (!isDuplicate(error)) throw translateFailure(error)
        if (condition.isNew === true) throw storageErrors.preconditionFailed()
        // It is there, and stays out of the caller's reach.
        if (attempt === attempts) throw storageErrors.insufficientStoragePermissions()
      }
    }
  }

  return {
    getReadable,
    quotaOf,

    /** @throws AppError bucket_not_found, missing_auth_token */
    async list(actor: Actor, window: ListWindow): Promise<ObjectPage> {
      const { isPublic } = await lookUp(window.bucket, '')
      try {
        const [answer] = await run(actor, [queries.asCaller(queries.listObjects(window))], true)
        const page = JSON.parse(queries.firstValue(answer) ?? '{}') as {
          items: ObjectRow[]
          prefixes: string[]
          totalItems: number
        }
        const items = await Promise.all(page.items.map((row) => show(queries.readObject(row), isPublic)))
        const { prefixes, totalItems } = page
        return { items, ...(window.delimiter === '' ? {} : { prefixes }), totalItems }
      } catch (error) {
        if (isDenied(error) && actor.scope.kind === 'anonymous') throw storageErrors.missingAuthToken()
        throw translateFailure(error)
      }
    },

    /**
     * Gives staged bytes to an object, new or not: the one place where an upload, of whatever kind, becomes one. The row, its
     * bytes' state and its user's usage change together or not at all.
     *
     * @throws AppError insufficient_storage_permissions, storage_quota_exceeded, precondition_failed, bucket_not_found
     */
    async commitObject(
      actor: Actor,
      content: Content,
      condition: WriteCondition = {},
      // Of the same transaction.
      further: readonly Step[] = [],
    ): Promise<Committed> {
      const steps = [
        queries.asLogin(queries.setQuota(quotaOf(actor))),
        queries.asCaller(queries.putObject(content, actor, condition)),
        queries.asLogin(queries.findByKey(content.key)),
        queries.asLogin(queries.isPublicBucket(content.bucket)),
        ...further,
      ]
      return await write(condition, async () => {
        const answers = await run(actor, steps, false)
        const object = queries.readObjectText(queries.firstValue(answers[2]))
        if (object === undefined) throw storageErrors.preconditionFailed()
        const isNew = answers[1]?.count === 1
        if (!isNew) reaper.wake()
        const isPublic = queries.firstValue(answers[3]) === 't'
        return { object: await show(object, isPublic), etag: object.etag, isNew }
      })
    },

    /**
     * Makes sure that the caller could commit such an object now: does so without bytes, and rolls it back.
     *
     * @throws AppError insufficient_storage_permissions, storage_quota_exceeded, bucket_not_found
     */
    async tryCommit(actor: Actor, content: Omit<Content, 'key'>): Promise<void> {
      const key = newKey()
      const steps = [
        queries.asLogin(queries.stageTrial(key)),
        queries.asLogin(queries.setQuota(quotaOf(actor))),
        queries.asCaller(queries.putObject({ ...content, key }, actor, {})),
        queries.asLogin(queries.endTrial),
      ]
      await write({}, async () => {
        await run(actor, steps, false).catch((error) => {
          if (!isPassedTrial(error)) throw error
        })
      })
    },

    /** @throws AppError file_not_found, insufficient_storage_permissions, precondition_failed */
    async delete(actor: Actor, { bucket, name }: Place, etags?: readonly string[]): Promise<void> {
      const { isPublic, object } = await lookUp(bucket, name)
      if (object === undefined) throw storageErrors.fileNotFound()
      const steps = [
        queries.asCaller(queries.seeObject(bucket, name)),
        queries.asCaller(queries.deleteObject(bucket, name, etags)),
      ]
      const [seen, deleted] = await run(actor, steps, false).catch((error) => {
        throw translateFailure(error)
      })
      if ((deleted?.count ?? 0) > 0) {
        reaper.wake()
        return
      }
      if (!isPublic && (seen?.count ?? 0) === 0) throw storageErrors.fileNotFound()
      if (etags !== undefined && !etags.includes(object.etag)) throw storageErrors.preconditionFailed()
      throw storageErrors.insufficientStoragePermissions()
    },

    /**
     * Moves an object as it was read.
     *
     * @returns undefined when it has been replaced, moved or deleted since
     * @throws AppError object_exists, insufficient_storage_permissions, bucket_not_found
     */
    async move(actor: Actor, object: StoredObject, to: Place): Promise<ShownObject | undefined> {
      const steps = [
        queries.asLogin(queries.setQuota('')),
        queries.asCaller(queries.moveObject(object, to)),
        queries.asLogin(queries.findById(object.id)),
        queries.asLogin(queries.isPublicBucket(to.bucket)),
      ]
      try {
        const [, moved, found, isPublic] = await run(actor, steps, false)
        const row = queries.readObjectText(queries.firstValue(found))
        if ((moved?.count ?? 0) === 0) {
          if (row === undefined || !isSame(row, object)) return undefined
          throw storageErrors.insufficientStoragePermissions()
        }
        if (row === undefined) return undefined
        reaper.wake()
        return await show(row, queries.firstValue(isPublic) === 't')
      } catch (error) {
        throw isDuplicate(error) ? storageErrors.objectExists() : translateFailure(error)
      }
    },
  }
}

/** Whether an object has the place and the content that it had. */
function isSame(now: StoredObject, before: StoredObject): boolean {
  return now.bucket === before.bucket && now.name === before.name && now.key === before.key
}
