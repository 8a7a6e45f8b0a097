import type { SystemDatabase } from '../../../database/system-database.ts'
import { accepted, operation } from '../../../http/operation.ts'
import { checkedByHandler, choice, component } from '../../../http/schemas.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { type Static, Type } from '../../../lib/type.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { type AttemptLimit, requireAllowed, type Throttle } from '../../operations/throttle/index.ts'
import type { CdnConfig } from './config.ts'
import { cdnErrors } from './errors.ts'
import type { CdnProvider } from './provider.ts'
import { type Purge, readPublicUrls } from './purge.ts'
import { batchesOf, purgeJobName } from './purge-job.ts'

export interface PurgeDeps {
  readonly name: CdnConfig['provider']
  /** Provider; undefined without a content delivery network. */
  readonly provider: CdnProvider | undefined
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly throttle: Throttle
}

/** Limit of full purges. After one, the next request of every visitor reaches the server. */
const purgeAllLimit: AttemptLimit = { name: 'cdn_purge_all', attempts: 1, windowSeconds: 60 }

const urls = Type.Array(Type.String(), { description: 'Absolute http or https URLs without a user name.' })
const purgeAll = Type.Boolean({ description: 'True to purge all copies. Allowed once a minute per address.' })
const purgeBody = Type.Object(
  {
    urls: Type.Optional(checkedByHandler({ minItems: 1, items: { type: 'string', format: 'uri' } }, urls)),
    purge_all: Type.Optional(checkedByHandler({ const: true }, purgeAll)),
  },
  { additionalProperties: false, description: 'Either `urls` or `purge_all`.' },
)

const purge = operation({
  guard: 'admin',
  permission: 'content.write',
  tag: 'storage',
  id: 'cdn.purge',
  method: 'POST',
  path: '/api/admin/storage/cdn/purge',
  summary: 'Purge the content delivery network',
  description:
    'Responds when the purge is recorded. A job sends it to the provider and retries failures. With the provider `nop` there is nothing to purge.',
  body: checkedByHandler({ minProperties: 1, maxProperties: 1 }, purgeBody),
  success: accepted(
    component(
      'CdnPurge',
      Type.Object({
        operation: choice(['purge_urls', 'purge_all']),
        submitted: Type.Integer({ description: 'Number of distinct addresses; 1 for `purge_all`.' }),
        provider: choice(['nop', 'cloudflare', 'cloudfront', 'webhook']),
      }),
    ),
  ),
  async handle({ name, provider, database, queue, throttle }: PurgeDeps, { body, origin }) {
    const purge = readPurge(body)
    const isAll = purge.operation === 'purge_all'
    const receipt = { submitted: isAll ? 1 : purge.urls.length, provider: name }
    if (isAll) {
      const verdict = await throttle.attempt(purgeAllLimit, origin.address)
      requireAllowed(verdict, cdnErrors.purgeAllLimitExceeded())
    }
    try {
      await database.transaction(async (transaction) => {
        const batches = provider === undefined ? [] : batchesOf(purge, provider.batchSize)
        for (const batch of batches) await queue.enqueue(purgeJobName, batch, transaction)
        const action = `cdn.${purge.operation}`
        await recordAudit(transaction, { actor: 'admin', action, detail: receipt, origin })
      })
    } catch (error) {
      // Nothing was purged, so the minute does not start.
      if (isAll) await throttle.release(purgeAllLimit, origin.address)
      throw error
    }
    queue.wake()
    return { operation: purge.operation, ...receipt }
  },
})

/** Operations on the content delivery network. */
export const cdnOperations = [purge]

/** @throws AppError invalid_purge_mode, invalid_purge_urls */
function readPurge({ urls = [], purge_all: isAll = false }: Static<typeof purgeBody>): Purge {
  if (urls.length > 0 === isAll) throw cdnErrors.invalidPurgeMode()
  if (isAll) return { operation: 'purge_all' }
  const publicUrls = readPublicUrls(urls)
  if (publicUrls === undefined) throw cdnErrors.invalidPurgeUrls()
  return { operation: 'purge_urls', urls: publicUrls }
}
