import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { UserDatabase } from '../../../../database/user-database.ts'
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
  readonly database: UserDatabase
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

/** What plans of apps say about storing. */
export interface StoragePlans {
  /** As `StorageLimits.ofPlans` says. */
  readonly limits: string
  readonly exceeded: () => AppError
}

/** What surrounds a commit of bytes. */
export interface CommitOptions {
  readonly condition?: WriteCondition | undefined
  /** Ends, in the same transaction, the resumable upload whose bytes these are. */
  readonly completes?: Step | undefined
  readonly key?: IdempotencyKey | undefined
  /** Called when the same request had been answered before, so that these bytes belong to no object. */
  readonly unused?: () => Promise<void>
}

/** Between the look at an object and the write another one may have been made; then the write looks again. */
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
   * Administrators are not held to limits: they could not make room. Programs that act for no user have those of their app
   * alone.
   */
  function limitsOf({ userId, scope }: Actor): queries.StorageLimits {
    return {
      quota: userId === null ? '' : String(defaultQuotaMb * 1024 * 1024),
      ofPlans: scope.kind === 'unrestricted' ? '' : plans.limits,
    }
  }

  /** What the database says of a statement that is held to limits, as the API says it. */
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
        if (condition.isNew === true) throw storageErrors.preconditionFailed()
        if (attempt < attempts) continue
        if (condition.ifNoneMatch !== undefined || condition.unmodifiedSince !== undefined) {
          throw storageErrors.preconditionFailed()
        }
        // It is there, and stays out of the caller's reach.
        throw storageErrors.insufficientStoragePermissions()
      }
    }
  }

  return {
    limitsOf,
    refusalOf,

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
      { condition = {}, completes, key, unused }: CommitOptions = {},
    ): Promise<Committed> {
      let isReplayed = false
      const replaying = () => {
        isReplayed = true
        key?.replaying()
      }
      const steps = [
        // First: what it has reserved makes room, and rows are locked in the order in which a termination does it.
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
            if (found === undefined) throw storageErrors.preconditionFailed()
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
