import { setTimeout as delay } from 'node:timers/promises'
import type { Outbound } from '../../../http/outbound.ts'
import { JobRefused, type JobType } from '../../../job-queue.ts'
import { type RetryPolicy, secondsBeforeRetry } from '../../../lib/retry-policy.ts'
import type { CdnProvider, PurgeOutcome } from './provider.ts'
import { type Purge, readPublicUrls, splitList } from './purge.ts'

export const purgeJobName = 'cdn_purge'

/** Retry policy within one attempt of the job, for short failures. The pauses between attempts outlast an outage. */
const quickRetry: RetryPolicy = { attempts: 4, delay: 0.25, delayMax: 5, backoff: 2 }

/** Time limit in milliseconds of one exchange with the provider. */
const timeoutMs = 10_000
/** Maximum bytes of a response. Provider responses have a few hundred bytes. */
const replyLimit = 64 * 1024

export interface PurgeJobDeps {
  readonly name: string
  /** Provider; undefined if the content delivery network was removed, so that nothing is left to do. */
  readonly provider: CdnProvider | undefined
  readonly outbound: Outbound
}

/**
 * Creates the job type that sends a purge to the provider. A second purge does no harm, so a job may be repeated after
 * a crash.
 */
export function purgeJob({ name, provider, outbound }: PurgeJobDeps): JobType<Purge> {
  async function send(
    { request, read }: CdnProvider,
    batch: Purge,
    id: string,
    signal: AbortSignal,
  ): Promise<PurgeOutcome> {
    return read(await outbound.post({ ...(await request(batch, id)), timeoutMs, replyLimit, signal }))
  }

  return {
    name: purgeJobName,
    retry: { attempts: 8, delay: 15, delayMax: 900, backoff: 2 },
    timeout: 300,
    isOpenToSql: true,
    findProblem: findPayloadProblem,
    async handle(purge, { id, signal }) {
      if (provider === undefined) return
      // Usually this is one batch, because purges are split for the provider of the time when they are added.
      for (const [index, batch] of batchesOf(purge, provider.batchSize).entries()) {
        for (let attempt = 1; ; attempt += 1) {
          const outcome = await send(provider, batch, `${id}-${index}`, signal)
          if (outcome.isAccepted) break
          if (outcome.isFinal) throw new JobRefused(`${name} refused the purge: ${outcome.reason}`)
          const seconds = secondsBeforeRetry(quickRetry, attempt)
          if (seconds === undefined) throw new Error(`${name} did not take the purge: ${outcome.reason}`)
          await delay(seconds * 1000, undefined, { signal })
        }
      }
    },
  }
}

/** Splits a purge into parts that fit into one request each. */
export function batchesOf(purge: Purge, size: number): Purge[] {
  if (purge.operation === 'purge_all') return [purge]
  return splitList(purge.urls, size).map((urls) => ({ operation: 'purge_urls', urls }))
}

/** Returns the problem of a payload that an administrator has added. */
function findPayloadProblem({ operation, urls }: Readonly<Record<string, unknown>>): string | undefined {
  if (operation === 'purge_all') return undefined
  if (operation !== 'purge_urls') return 'operation must be purge_urls or purge_all'
  const isList = Array.isArray(urls) && urls.length > 0 && urls.every((url) => typeof url === 'string')
  return isList && readPublicUrls(urls) !== undefined ? undefined : 'urls must contain absolute public URLs'
}
