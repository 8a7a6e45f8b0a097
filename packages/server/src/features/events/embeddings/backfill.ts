import { onConnection } from '../../../database/on-connection.ts'
import type { Database } from '../../../database/open.ts'
import { sql } from '../../../database/sql.ts'
import { JobRefused, type JobType } from '../../../job-queue.ts'
import * as queries from './queries.ts'
import { findTarget } from './target.ts'
import { type EmbeddingDeps, type EmbeddingPayload, enqueueUpdate, findNameProblem } from './update.ts'

export const backfillJob = 'embedding_backfill'

export interface BackfillPayload extends EmbeddingPayload {
  /** True if rows that already have a vector get a new one too. */
  readonly all?: boolean
}

/** Time limit in seconds of the statement that queues the rows of a table. */
const timeoutSeconds = 3600

/**
 * Creates the job type that queues the existing rows of an embedding. One statement in one transaction queues them, so
 * that a crash leaves all or nothing. The statement reads a whole table and therefore runs on a connection outside the
 * pools.
 */
export function createBackfillJob(
  { settings, embedders, catalog, queue }: EmbeddingDeps,
  aside: Database['aside'],
): JobType<BackfillPayload> {
  return {
    name: backfillJob,
    retry: { attempts: 5, delay: 5, delayMax: 300, backoff: 2 },
    timeout: timeoutSeconds + 60,
    findProblem: ({ embedding, all }) =>
      findNameProblem(settings, embedding) ??
      (all === undefined || typeof all === 'boolean' ? undefined : 'all must be true or false'),
    async handle({ embedding: name, all = false }, { signal }) {
      const found = settings[name]
      if (found === undefined) throw new JobRefused(`the configuration has no embeddings.${name}`)
      const target = findTarget(catalog.current, embedders, found)
      if ('problem' in target) throw new JobRefused(target.problem)
      signal.throwIfAborted()
      await onConnection(aside, await aside.open(), signal, (connection) =>
        aside.transaction(connection, async (transaction) => {
          await transaction.one(sql`
            select set_config('statement_timeout', ${String(timeoutSeconds * 1000)}, true)`)
          await queries.requireAllRows(transaction)
          await queries.queueRows(transaction, name, target, all)
          await enqueueUpdate(queue, transaction, name)
        }),
      )
      queue.wake()
    },
  }
}
