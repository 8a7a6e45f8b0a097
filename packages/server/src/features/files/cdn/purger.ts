import type { Queryable } from '../../../database/system-database.ts'
import type { JobQueue } from '../../../job-queue.ts'
import type { CdnProvider } from './provider.ts'
import { batchesOf, purgeJobName } from './purge-job.ts'

/** Removes copies of what other features have changed. */
export interface Purger {
  /** Records the purge in the transaction of the change; without a content delivery network nothing is to be done. */
  purge(urls: readonly string[], transaction: Queryable): Promise<void>
  /** After the commit: has what was recorded sent at once. */
  wake(): void
}

export function createPurger(provider: CdnProvider | undefined, queue: JobQueue): Purger {
  return {
    async purge(urls, transaction) {
      if (provider === undefined) return
      for (const batch of batchesOf({ operation: 'purge_urls', urls }, provider.batchSize)) {
        await queue.enqueue(purgeJobName, batch, transaction)
      }
    },
    wake: () => queue.wake(),
  }
}
