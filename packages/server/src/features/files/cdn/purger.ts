import type { Queryable } from '../../../database/system-database.ts'
import type { JobQueue } from '../../../job-queue.ts'
import type { CdnProvider } from './provider.ts'
import type { Purge } from './purge.ts'
import { batchesOf, purgeJobName } from './purge-job.ts'

/**
 * Has copies of what has changed removed: part of the transaction of the change, so that neither happens without the other.
 * Call `JobQueue.wake` after its commit.
 */
export type PurgeChanged = (transaction: Queryable, purge: Purge) => Promise<void>

/** Until every node serves what has changed: a copy fetched from one that does not would be the old one again. */
const delaySeconds = 2

/** Undefined without a content delivery network. */
export function createPurger(provider: CdnProvider | undefined, queue: JobQueue): PurgeChanged | undefined {
  if (provider === undefined) return undefined
  return async (transaction, purge) => {
    for (const batch of batchesOf(purge, provider.batchSize)) {
      await queue.enqueue(purgeJobName, batch, transaction, { delaySeconds })
    }
  }
}
