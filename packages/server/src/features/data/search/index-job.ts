import { setTimeout as delay } from 'node:timers/promises'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import { JobRefused, type JobType } from '../../../job-queue.ts'
import { AppError } from '../../../lib/errors.ts'
import type { Indexing } from './indexing.ts'

export const indexJobName = 'search_index_build'

/** Maximum pause before a build that gave way is repeated. */
const pauseLimitMs = 30_000

interface IndexPayload {
  readonly collection: string
}

/** Creates the job that builds the indexes required by a collection's settings. */
export function indexJob(live: LiveCatalog, indexing: Indexing): JobType<IndexPayload> {
  /**
   * Builds the indexes. Returns false after giving way to a change of the table, which may have changed the indexed
   * columns.
   */
  async function attemptBuild(collection: string, signal: AbortSignal): Promise<boolean> {
    await live.refresh(live.current)
    const catalog = live.current
    const relation = catalog.relations.get(collection)
    if (relation === undefined) throw new JobRefused(`collection not found: ${collection}`)
    try {
      await indexing.build(catalog, relation, signal)
      return true
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (error.kind === 'search_index_gave_way') return false
      const reason = String(error.extras.data?.reason ?? error.message)
      throw error.status === 400 ? new JobRefused(reason) : new Error(reason)
    }
  }

  return {
    name: indexJobName,
    retry: { attempts: 5, delay: 30, delayMax: 600, backoff: 2 },
    // The database ends a build that takes too long. This timeout applies if it does not.
    timeout: 12 * 3600,
    isOpenToSql: true,
    findProblem: ({ collection }) =>
      typeof collection === 'string' && collection !== ''
        ? undefined
        : 'collection must be the name of a collection',
    async handle({ collection }, { signal }) {
      for (let attempt = 1; !(await attemptBuild(collection, signal)); attempt += 1) {
        await delay(Math.min(1000 * attempt, pauseLimitMs), undefined, { signal, ref: false })
      }
      await live.refresh()
    },
  }
}
