import type { Logger } from 'pino'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import type { Database } from '../../../database/open.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { addJobOperations } from '../jobs/index.ts'
import { type EventConsumer, type Interests, Relay } from '../outbox/index.ts'
import { createBackfillJob } from './backfill.ts'
import { embeddingOperations } from './operations.ts'
import * as queries from './queries.ts'
import { recipeOf } from './target.ts'
import { createUpdateJob, type EmbeddingDeps, enqueueUpdate } from './update.ts'

export { keptEmbeddingErrorTable } from './errors.ts'

const consumerName = 'embeddings'

export interface KeptEmbeddingsDeps extends Omit<EmbeddingDeps, 'database' | 'user'> {
  readonly database: Pick<Database, 'system' | 'user' | 'aside'>
  readonly interests: Interests
  readonly notifications: Pick<Notifications, 'watch'>
  /** Whether this node works on jobs. */
  readonly isWorking: boolean
  readonly log: Logger
}

/** Keeps vector columns current with the text of their rows. */
export function keptEmbeddings({
  database: { system, user, aside },
  interests,
  notifications,
  isWorking,
  log,
  ...rest
}: KeptEmbeddingsDeps): Feature {
  const { settings, embedders, queue } = rest
  const deps: EmbeddingDeps = { ...rest, database: system, user }
  const names = Object.keys(settings)
  queue.define(createUpdateJob(deps))
  queue.define(createBackfillJob(deps, aside))

  const consumer: EventConsumer = {
    name: consumerName,
    async take(ids, transaction) {
      const changed = await queries.queueChanges(transaction, ids)
      for (const name of changed) await enqueueUpdate(queue, transaction, name)
    },
    taken: () => queue.wake(),
  }
  const isReading = isWorking && names.length > 0
  const relay = isReading
    ? new Relay({ database: system, consumer, notifications, interests, log })
    : undefined

  async function enqueuePending(transaction: Queryable): Promise<void> {
    for (const name of await queries.listPending(transaction)) {
      if (Object.hasOwn(settings, name)) await enqueueUpdate(queue, transaction, name)
    }
  }

  return {
    name: consumerName,
    routes: (app) => addJobOperations(app, isWorking, deps, embeddingOperations),
    async start() {
      const configured = Object.entries(settings).map(([name, each]) => {
        return { name, table: each.table, columns: each.columns, recipe: recipeOf(each, embedders) }
      })
      // What a crash, or a configuration that was wrong, has left.
      await system.transaction(async (transaction) => {
        await queries.replaceEmbeddings(transaction, configured)
        if (isWorking) await enqueuePending(transaction)
        // The log is not kept for a consumer that no node has.
        if (names.length > 0) return
        await transaction.count(sql`
          delete from basalt.event_cursors where consumer = ${consumerName} and leased_until < now()`)
      })
      await interests.refresh()
      await relay?.start()
    },
    stop: () => relay?.stop(),
  }
}
