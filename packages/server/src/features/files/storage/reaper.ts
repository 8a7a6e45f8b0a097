import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import type { PurgeChanged } from '../cdn/index.ts'
import type { ByteStore } from './bytes/store.ts'
import { limitImageVariants } from './images/variant-queries.ts'
import type { UrlOf } from './object.ts'
import { expireUploads } from './resumable/upload-queries.ts'

const reaperJobName = 'storage_reaper'

/** Number of keys that one pass removes before the next query. */
const batchSize = 100
/** Addresses that one purge names. */
const purgeBatch = 1000
/** Deletions that come within this time are worked off together. */
const gatherMs = 200
/** Milliseconds after which an unfinished file belongs to no upload any more. */
const unfinishedMs = 2 * 24 * 60 * 60 * 1000

export interface ReaperDeps {
  readonly database: SystemDatabase
  readonly queue: JobQueue
  /** Byte store; undefined while storage is off. The schedule exists all the same. */
  readonly store: ByteStore | undefined
  /** Undefined without a content delivery network. */
  readonly purge: PurgeChanged | undefined
  readonly urlOf: UrlOf
  readonly now: () => Date
  readonly imageCacheBytes: number
  readonly onFailure: (error: unknown) => void
}

export interface Reaper {
  /** Schedules a run soon, after a commit that may have doomed bytes or left copies out of date. */
  wake(): void
  stop(): Promise<void>
}

/**
 * Removes the bytes that no object has any more and hands out-of-date addresses to the purge. The next run repeats work that
 * a crash interrupted: bytes are removed before their row.
 */
export function createReaper({
  database,
  queue,
  store,
  purge,
  urlOf,
  now,
  imageCacheBytes,
  onFailure,
}: ReaperDeps): Reaper {
  let timer: NodeJS.Timeout | undefined
  let adding: Promise<void> | undefined
  if (store !== undefined) {
    queue.define(
      housekeeping(reaperJobName, async () => {
        await purgeChanged(database, purge, urlOf)
        await expire(database)
        await limitImageVariants(database, imageCacheBytes)
        await removeDoomed(database, store)
        // The removal of image bytes dooms the bytes of their variants.
        await removeDoomed(database, store)
        await store.removeUnfinished(new Date(now().getTime() - unfinishedMs))
      }),
    )
  } else {
    queue.define(housekeeping(reaperJobName, async () => expire(database)))
  }

  async function add(): Promise<void> {
    try {
      await queue.enqueue(reaperJobName, {})
      queue.wake()
    } catch (error) {
      // The schedule does it later.
      onFailure(error)
    }
  }

  return {
    wake() {
      timer ??= setTimeout(() => {
        timer = undefined
        adding = add()
      }, gatherMs).unref()
    },
    async stop() {
      clearTimeout(timer)
      await adding
    },
  }
}

/** Records the purge and deletes its reason in one transaction. */
async function purgeChanged(
  database: SystemDatabase,
  purge: PurgeChanged | undefined,
  urlOf: UrlOf,
): Promise<void> {
  for (;;) {
    const count = await database.transaction(async (transaction) => {
      const changed = await transaction.many<{ id: string; bucket: string; name: string }>(sql`
        delete from basalt.storage_purges where id in (
          select id from basalt.storage_purges order by id limit ${purgeBatch} for update skip locked
        ) returning id, bucket, name`)
      const urls = [...new Set(changed.map(({ bucket, name }) => urlOf(bucket, name)))]
      if (urls.length > 0) await purge?.(transaction, { operation: 'purge_urls', urls })
      return changed.length
    })
    if (count < purgeBatch) return
  }
}

/** Deletes uploads that were never finished, and expired addresses. */
async function expire(database: SystemDatabase): Promise<void> {
  await database.count(sql`
    update basalt.stored_bytes set state = 'doomed' where state = 'staged' and expires_at < now()`)
  // An upload that began before has a day for its bytes.
  await database.count(sql`delete from basalt.signed_addresses where expires_at < now() - interval '1 day'`)
  await database.count(sql`delete from basalt.storage_usage where ended_at < now() - interval '2 days'`)
  await expireUploads(database)
}

async function removeDoomed(database: SystemDatabase, store: ByteStore): Promise<void> {
  let after = ''
  for (;;) {
    const doomed = await database.many<{ key: string }>(sql`
      select key from basalt.stored_bytes
      where state = 'doomed' and key > ${after} order by key limit ${batchSize}`)
    const keys = doomed.map(({ key }) => key)
    const last = keys.at(-1)
    if (last === undefined) return
    for (const key of keys) await store.remove(key)
    await database.count(sql`
      delete from basalt.stored_bytes where state = 'doomed' and key = any (${keys}::text[])`)
    after = last
  }
}
