import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { UserDatabase } from '../../../../database/user-database.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import type { AppError } from '../../../../lib/errors.ts'
import type { IdempotencyKey, WritesOnce } from '../../../data/idempotency/index.ts'
import type { Actor } from '../actor.ts'
import { newKey } from '../bytes/store.ts'
import { storageErrors } from '../errors.ts'
import type { StorageObject } from '../object.ts'
import type { Reaper } from '../reaper.ts'
import { isBeyondPlan, isDuplicate, isPassedTrial, translateFailure } from './failures.ts'
import type { Content, WriteCondition } from './object-queries.ts'
import * as queries from './object-queries.ts'
import type { ObjectReader } from './read-objects.ts'

export interface CommitterDeps {
  readonly database: Pick<UserDatabase, 'run'>
  readonly reader: Pick<ObjectReader, 'show'>
  readonly defaultQuotaMb: number
  readonly plans: StoragePlans
  readonly reaper: Pick<Reaper, 'wake'>
  readonly writesOnce: WritesOnce
}

export interface Committed {
  readonly object: StorageObject
  readonly etag: string
  readonly isNew: boolean
}

/** Storage limits from the plans of apps. */
export interface StoragePlans {
  /** Limits in the format of `StorageLimits.ofPlans`. */
  readonly limits: string
  readonly exceeded: () => AppError
}

/** Options of a commit of bytes. */
export interface CommitOptions {
  readonly condition?: WriteCondition | undefined
  /** Ends, in the same transaction, the resumable upload whose bytes these are. */
  readonly completes?: Step | undefined
  readonly key?: IdempotencyKey | undefined
  /** Callback for a request that already has a response, so that these bytes belong to no object. */
  readonly unused?: () => Promise<void>
}

/** Maximum number of attempts. The write reads again if another object was created between its read and its write. */
const attempts = 3

/** Makes objects of bytes, held to the limits of the user and of the app. */
export function createObjectCommitter({
  database,
  reader,
  defaultQuotaMb,
  plans,
  reaper,
  writesOnce,
}: CommitterDeps) {
  /**
   * Returns the limits of an actor. Administrators have none, because they could not free any space. Programs that act for no
   * user have those of their app alone.
   */
  function limitsOf({ userId, scope }: Actor): queries.StorageLimits {
    return {
      quota: userId === null ? '' : String(defaultQuotaMb * 1024 * 1024),
      ofPlans: scope.kind === 'unrestricted' ? '' : plans.limits,
    }
  }

  /** Translates the database error of a statement under limits into an API error. */
  function refusalOf(error: unknown): unknown {
    return isBeyondPlan(error) ? plans.exceeded() : translateFailure(error)
  }

  /** Writes an object, again when one of this name was made meanwhile. */
  async function write<Result>(condition: WriteCondition, work: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work()
      } catch (error) {
        if (!isDuplicate(error)) throw refusalOf(error)
        if (condition.isNew === true) throw httpErrors.preconditionFailed()
        if (attempt < attempts) continue
        if (condition.ifNoneMatch !== undefined || condition.unmodifiedSince !== undefined) {
          throw httpErrors.preconditionFailed()
        }
        // The object exists, and stays out of the caller's reach.
        throw storageErrors.insufficientStoragePermissions()
      }
    }
  }

  return {
    limitsOf,
    refusalOf,

    /**
     * Gives staged bytes to an object, new or not. Every kind of upload becomes an object here, and nowhere else. The row, its
     * bytes' state and its user's usage change together or not at all.
     *
     * @throws AppError insufficient_storage_permissions, storage_quota_exceeded, usage_limit_exceeded, precondition_failed,
     *   bucket_not_found
     */
    async commitObject(
      actor: Actor,
      content: Content,
      { condition = {}, completes, key, unused }: CommitOptions = {},
    ): Promise<Committed> {
      let isReplayed = false
      const replaying = () => {
        isReplayed = true
        key?.replaying()
      }
      const steps = [
        // This step is first: the upload's reservation is freed for the object. It also locks rows in the order of a termination.
        ...(completes === undefined ? [] : [completes]),
        queries.asCaller(queries.setLimits(limitsOf(actor))),
        queries.asCaller(queries.putObject(content, actor, condition)),
        queries.asLogin(queries.findByKey(content.key)),
      ]
      const committed = await write(condition, () =>
        writesOnce.run(
          { key: key && { ...key, replaying }, scope: actor.scope, steps, options: { isRead: false } },
          (answers) => {
            const [put, answer] = answers.slice(-2)
            const found = queries.readStored(queries.firstValue(answer))
            if (found === undefined) throw httpErrors.preconditionFailed()
            return {
              object: reader.show(found.object, found.isPublic),
              etag: found.object.etag,
              isNew: put?.count === 1,
            }
          },
        ),
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
        queries.asCaller(queries.setLimits(limitsOf(actor))),
        queries.asCaller(queries.putObject({ ...content, key }, actor, {})),
        queries.asLogin(queries.endTrial),
      ]
      await write({}, async () => {
        await database.run(actor.scope, steps, { isRead: false }).catch((error) => {
          if (!isPassedTrial(error)) throw error
        })
      })
    },
  }
}
