import type { Answer } from '../../../../database/message.ts'
import type { Step, UserDatabase } from '../../../../database/user-database.ts'
import type { AppError } from '../../../../lib/errors.ts'
import type { IdempotencyKey, WritesOnce } from '../../../data/idempotency/index.ts'
import type { Actor } from '../actor.ts'
import { newKey } from '../bytes/store.ts'
import { storageErrors } from '../errors.ts'
import type { Reaper } from '../reaper.ts'
import { type ObjectRow, type ShownObject, showObject, type UrlOf } from '../show.ts'
import { isBeyondPlan, isDenied, isDuplicate, isPassedTrial, translateFailure } from './failures.ts'
import type { Content, ListWindow, Place, StoredObject, WriteCondition } from './object-queries.ts'
import * as queries from './object-queries.ts'

export interface ObjectsDeps {
  readonly database: UserDatabase
  readonly urlOf: UrlOf
  readonly defaultQuotaMb: number
  readonly plans: StoragePlans
  readonly reaper: Pick<Reaper, 'wake'>
  readonly writesOnce: WritesOnce
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

/** What plans of apps say about storing. */
export interface StoragePlans {
  /** As `StorageLimits.ofPlans` says. */
  readonly limits: string
  readonly exceeded: () => AppError
}

/** What surrounds a commit of bytes. */
export interface CommitOptions {
  readonly condition?: WriteCondition | undefined
  /** Of the same transaction. */
  readonly further?: readonly Step[] | undefined
  readonly key?: IdempotencyKey | undefined
  /** Called when the same request had been answered before, so that these bytes belong to no object. */
  readonly unused?: () => Promise<void>
}

/** The object was replaced, moved or deleted since it was looked at. */
class Outdated extends Error {}

/** Between the look at an object and the write another one may have been made; then the write looks again. */
const attempts = 3

export type ObjectService = ReturnType<typeof createObjectService>

/** Objects as rows, under the policies of the operator. Their bytes are elsewhere. */
export function createObjectService({
  database,
  urlOf,
  defaultQuotaMb,
  plans,
  reaper,
  writesOnce,
}: ObjectsDeps) {
  async function run(
    { scope }: Pick<Actor, 'scope'>,
    steps: readonly Step[],
    isRead: boolean,
  ): Promise<readonly Answer[]> {
    return await database.run(scope, steps, { isRead })
  }

  /** @param read what it throws undoes a write with a key; without one it is thrown where nothing was written */
  async function runWrite<Result>(
    { scope }: Pick<Actor, 'scope'>,
    steps: readonly Step[],
    key: IdempotencyKey | undefined,
    read: (answers: readonly Answer[]) => Result,
  ): Promise<Result> {
    return await writesOnce.run({ key, scope, steps, options: { isRead: false } }, read)
  }

  /**
   * Administrators are not held to limits: they could not make room. Programs that act for no user have those of their app
   * alone.
   */
  function limitsOf({ userId, scope }: Actor): queries.StorageLimits {
    return {
      quota: userId === null ? '' : String(defaultQuotaMb * 1024 * 1024),
      ofPlans: scope.kind === 'unrestricted' ? '' : plans.limits,
    }
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

  function show(row: ObjectRow, isPublic: boolean): ShownObject {
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
        if (isBeyondPlan(error)) throw plans.exceeded()
        if (!isDuplicate(error)) throw translateFailure(error)
        if (condition.isNew === true) throw storageErrors.preconditionFailed()
        // It is there, and stays out of the caller's reach.
        if (attempt === attempts) throw storageErrors.insufficientStoragePermissions()
      }
    }
  }

  return {
    getReadable,
    limitsOf,

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
        const items = page.items.map((row) => show(queries.readObject(row), isPublic))
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
     * @throws AppError insufficient_storage_permissions, storage_quota_exceeded, usage_limit_exceeded, precondition_failed,
     *   bucket_not_found
     */
    async commitObject(
      actor: Actor,
      content: Content,
      { condition = {}, further = [], key, unused }: CommitOptions = {},
    ): Promise<Committed> {
      let isReplayed = false
      const replaying = () => {
        isReplayed = true
        key?.replaying()
      }
      const steps = [
        queries.asLogin(queries.setLimits(limitsOf(actor))),
        queries.asCaller(queries.putObject(content, actor, condition)),
        queries.asLogin(queries.findByKey(content.key)),
        queries.asLogin(queries.isPublicBucket(content.bucket)),
        ...further,
      ]
      const committed = await write(condition, () =>
        runWrite(actor, steps, key && { ...key, replaying }, (answers) => {
          const object = queries.readObjectText(queries.firstValue(answers[2]))
          if (object === undefined) throw storageErrors.preconditionFailed()
          const isPublic = queries.firstValue(answers[3]) === 't'
          return { object: show(object, isPublic), etag: object.etag, isNew: answers[1]?.count === 1 }
        }),
      )
      if (isReplayed) await unused?.()
      else if (!committed.isNew) reaper.wake()
      return committed
    },

    /**
     * Makes sure that the caller could commit such an object now: does so without bytes, and rolls it back.
     *
     * @throws AppError insufficient_storage_permissions, storage_quota_exceeded, usage_limit_exceeded, bucket_not_found
     */
    async tryCommit(actor: Actor, content: Omit<Content, 'key'>): Promise<void> {
      const key = newKey()
      const steps = [
        queries.asLogin(queries.stageTrial(key)),
        queries.asLogin(queries.setLimits(limitsOf(actor))),
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
    async delete(
      actor: Actor,
      { bucket, name }: Place,
      {
        etags,
        key,
      }: { readonly etags?: readonly string[] | undefined; readonly key?: IdempotencyKey | undefined } = {},
    ): Promise<void> {
      const steps = [
        queries.asCaller(queries.seeObject(bucket, name)),
        queries.asCaller(queries.deleteObject(bucket, name, etags)),
      ]
      await writesOnce.unlessMade(key, async () => {
        const { isPublic, object } = await lookUp(bucket, name)
        if (object === undefined) throw storageErrors.fileNotFound()
        return await runWrite(actor, steps, key, ([seen, deleted]) => {
          if ((deleted?.count ?? 0) > 0) return null
          if (!isPublic && (seen?.count ?? 0) === 0) throw storageErrors.fileNotFound()
          if (etags !== undefined && !etags.includes(object.etag)) throw storageErrors.preconditionFailed()
          throw storageErrors.insufficientStoragePermissions()
        }).catch((error) => {
          throw translateFailure(error)
        })
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
      to: Place,
      key: IdempotencyKey | undefined,
    ): Promise<ShownObject | undefined> {
      const steps = [
        queries.asLogin(queries.setLimits(queries.unlimited)),
        queries.asCaller(queries.moveObject(object, to)),
        queries.asLogin(queries.findById(object.id)),
        queries.asLogin(queries.isPublicBucket(to.bucket)),
      ]
      try {
        const shown = await runWrite(actor, steps, key, ([, moved, found, isPublic]) => {
          const row = queries.readObjectText(queries.firstValue(found))
          const isMoved = (moved?.count ?? 0) > 0
          if (row === undefined || (!isMoved && !isSame(row, object))) throw new Outdated()
          if (!isMoved) throw storageErrors.insufficientStoragePermissions()
          return show(row, queries.firstValue(isPublic) === 't')
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

/** Whether an object has the place and the content that it had. */
function isSame(now: StoredObject, before: StoredObject): boolean {
  return now.bucket === before.bucket && now.name === before.name && now.key === before.key
}
