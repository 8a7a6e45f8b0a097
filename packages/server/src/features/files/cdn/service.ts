import type { SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { type AttemptLimit, requireAllowed, type Throttle } from '../../operations/throttle/index.ts'
import type { CdnConfig } from './config.ts'
import { cdnErrors } from './errors.ts'
import type { CdnProvider } from './provider.ts'
import { type Purge, readPublicUrls } from './purge.ts'
import { batchesOf, purgeJobName } from './purge-job.ts'

export interface PurgeInput {
  readonly urls?: readonly string[] | undefined
  readonly purge_all?: boolean | undefined
}

export interface PurgeReceipt {
  readonly operation: Purge['operation']
  readonly submitted: number
  readonly provider: CdnConfig['provider']
}

export interface CdnService {
  /** @throws AppError invalid_purge_mode, invalid_purge_urls, purge_all_limit_exceeded */
  purge(input: PurgeInput, origin: RequestOrigin): Promise<PurgeReceipt>
}

/** A full purge makes every visitor's next request reach the server. */
const purgeAllLimit: AttemptLimit = { name: 'cdn_purge_all', attempts: 1, windowSeconds: 60 }

export interface CdnServiceDeps {
  readonly name: PurgeReceipt['provider']
  readonly provider: CdnProvider | undefined
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly throttle: Throttle
}

export function createCdnService({ name, provider, database, queue, throttle }: CdnServiceDeps): CdnService {
  /** All of its jobs and the entry of the audit, or nothing. */
  async function record(purge: Purge, submitted: number, origin: RequestOrigin): Promise<void> {
    await database.transaction(async (transaction) => {
      const batches = provider === undefined ? [] : batchesOf(purge, provider.batchSize)
      for (const batch of batches) await queue.enqueue(purgeJobName, batch, transaction)
      const detail = { provider: name, submitted }
      await recordAudit(transaction, { actor: 'admin', action: `cdn.${purge.operation}`, detail, origin })
    })
    queue.wake()
  }

  return {
    async purge(input, origin) {
      const purge = readPurge(input)
      const { operation } = purge
      if (operation === 'purge_urls') {
        await record(purge, purge.urls.length, origin)
        return { operation, submitted: purge.urls.length, provider: name }
      }
      const verdict = await throttle.attempt(purgeAllLimit, origin.address)
      requireAllowed(verdict, cdnErrors.purgeAllLimitExceeded())
      try {
        await record(purge, 1, origin)
      } catch (error) {
        // Nothing was purged: the minute begins with the purge that is.
        await throttle.release(purgeAllLimit, origin.address)
        throw error
      }
      return { operation, submitted: 1, provider: name }
    },
  }
}

function readPurge({ urls = [], purge_all: isAll = false }: PurgeInput): Purge {
  if (urls.length > 0 === isAll) throw cdnErrors.invalidPurgeMode()
  if (isAll) return { operation: 'purge_all' }
  const publicUrls = readPublicUrls(urls)
  if (publicUrls === undefined) throw cdnErrors.invalidPurgeUrls()
  return { operation: 'purge_urls', urls: publicUrls }
}
