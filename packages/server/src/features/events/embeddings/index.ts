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

export { automaticEmbeddingErrorTable } from './errors.ts'

const consumerName = 'embeddings'

export interface AutomaticEmbeddingsDeps extends Omit<EmbeddingDeps, 'database' | 'user'> {
  readonly database: Pick<Database, 'system' | 'user' | 'aside'>
  readonly interests: Interests
  readonly notifications: Pick<Notifications, 'watch' | 'isLeading'>
  /** True if this node works on jobs. */
  readonly isWorking: boolean
  readonly log: Logger
}

/** Creates the feature that updates vector columns when the text of their rows changes. */
export function automaticEmbeddings({
  database: { system, user, aside },
  interests,
  notifications,
  isWorking,
  log,
  ...rest
}: AutomaticEmbeddingsDeps): Feature {
  const { settings, embedders, queue } = rest
  const deps: EmbeddingDeps = { ...rest, database: system, user }
  const names = Object.keys(settings)
  queue.define(createUpdateJob(deps))
  queue.define(createBackfillJob(deps, aside))

  const consumer: EventConsumer = {
    name: consumerName,
    async process(ids, transaction) {
      const changed = await queries.queueChanges(transaction, ids)
      for (const name of changed) await enqueueUpdate(queue, transaction, name)
    },
    committed: () => queue.wake(),
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
      // Resumes work that a crash or a wrong configuration has left behind.
      await system.transaction(async (transaction) => {
        await queries.replaceEmbeddings(transaction, configured)
        if (isWorking) await enqueuePending(transaction)
        // The log is not retained for a consumer that no node has.
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
