import type { Queryable } from '../../../database/system-database.ts'
import type { JobQueue } from '../../../job-queue.ts'
import type { CdnProvider } from './provider.ts'
import type { Purge } from './purge.ts'
import { batchesOf, purgeJobName } from './purge-job.ts'

/**
 * Function that purges changed addresses as part of the transaction of the change, so that neither happens without the
 * other. Call `JobQueue.wake` after the commit.
 */
export type PurgeChanged = (transaction: Queryable, purge: Purge) => Promise<void>

/**
 * Seconds until every node serves the change. A copy that is fetched from a slower node would hold the old content
 * again.
 */
const delaySeconds = 2

/** Creates the purger; undefined without a content delivery network. */
export function createPurger(provider: CdnProvider | undefined, queue: JobQueue): PurgeChanged | undefined {
  if (provider === undefined) return undefined
  return async (transaction, purge) => {
    for (const batch of batchesOf(purge, provider.batchSize)) {
      await queue.enqueue(purgeJobName, batch, transaction, { delaySeconds })
    }
  }
}
