import type { Answer } from '../../../../database/message.ts'
import type { Step, UserDatabase } from '../../../../database/user-database.ts'
import type { Actor } from '../actor.ts'
import { storageErrors } from '../errors.ts'
import type { Reaper } from '../reaper.ts'
import { type ObjectRow, type ShownObject, showObject, type UrlOf } from '../show.ts'
import { isDenied, isDuplicate, translateFailure } from './failures.ts'
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

  /** Administrators are not held to quotas: they could not make room. */
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

  return {
    getReadable,

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
    async commitObject(actor: Actor, content: Content, condition: WriteCondition = {}): Promise<Committed> {
      const steps = [
        queries.asLogin(queries.setQuota(quotaOf(actor))),
        queries.asCaller(queries.putObject(content, actor, condition)),
        queries.asLogin(queries.findByKey(content.key)),
        queries.asLogin(queries.isPublicBucket(content.bucket)),
      ]
      for (let attempt = 1; ; attempt += 1) {
        try {
          const answers = await run(actor, steps, false)
          const object = queries.readObjectText(queries.firstValue(answers[2]))
          if (object === undefined) throw storageErrors.preconditionFailed()
          const isNew = answers[1]?.count === 1
          if (!isNew) reaper.wake()
          const isPublic = queries.firstValue(answers[3]) === 't'
          return { object: await show(object, isPublic), etag: object.etag, isNew }
        } catch (error) {
          if (!isDuplicate(error)) throw translateFailure(error)
          if (condition.isNew === true) throw storageErrors.preconditionFailed()
          // It is there, and stays out of the caller's reach.
          if (attempt === attempts) throw storageErrors.insufficientStoragePermissions()
        }
      }
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

    /** @throws AppError file_not_found, object_exists, insufficient_storage_permissions, bucket_not_found */
    async move(actor: Actor, from: Place, to: Place): Promise<ShownObject> {
      const { object } = await getReadable(actor, from.bucket, from.name)
      const steps = [
        queries.asLogin(queries.setQuota('')),
        queries.asCaller(queries.moveObject(from, to)),
        queries.asLogin(queries.findById(object.id)),
        queries.asLogin(queries.isPublicBucket(to.bucket)),
      ]
      try {
        const [, moved, found, isPublic] = await run(actor, steps, false)
        if ((moved?.count ?? 0) === 0) throw storageErrors.insufficientStoragePermissions()
        const row = queries.readObjectText(queries.firstValue(found))
        if (row === undefined) throw storageErrors.fileNotFound()
        reaper.wake()
        return await show(row, queries.firstValue(isPublic) === 't')
      } catch (error) {
        throw isDuplicate(error) ? storageErrors.objectExists() : translateFailure(error)
      }
    },
  }
}
