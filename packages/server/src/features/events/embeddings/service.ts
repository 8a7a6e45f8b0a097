import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { Embedder } from '../../data/embedding-provider/index.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { backfillJob } from './backfill.ts'
import { keptEmbeddingErrors } from './errors.ts'
import * as queries from './queries.ts'
import { findTarget } from './target.ts'
import type { EmbeddingDeps } from './update.ts'

/** A vector column that is kept current, and how far it is. */
export interface KeptEmbedding {
  readonly name: string
  readonly table: string
  readonly columns: readonly string[]
  readonly vectorColumn: string
  /** `provider:model`; null without one. */
  readonly model: string | null
  /** Whether this node asks the provider at present; null without a model. */
  readonly provider: ProviderState | null
  /** What keeps it from being kept current. */
  readonly problem: string | null
  /** Whether existing rows have not been queued since it was configured as it is. */
  readonly isOutdated: boolean
  /** Rows that wait for their vector. */
  readonly pending: number
  /** Rows whose text the provider refuses. */
  readonly failed: number
  readonly written: number
  readonly lastWrittenAt: string | null
  readonly lastError: string | null
  readonly backfill: Backfill | null
}

export interface ProviderState {
  readonly name: string
  readonly breaker: 'closed' | 'open' | 'half-open'
  /** Until it is asked again; 0 when that may be at any moment. */
  readonly retryInSeconds: number
}

export interface Backfill {
  readonly jobId: string
  readonly state: string
  /** Rows it has queued; null before it has. */
  readonly rows: number | null
  readonly startedAt: string | null
  readonly finishedAt: string | null
}

export interface EmbeddingDetail extends KeptEmbedding {
  /** The first hundred. */
  readonly failures: readonly { readonly recordKey: readonly unknown[]; readonly error: string }[]
}

export interface KeptEmbeddingService {
  list(): Promise<KeptEmbedding[]>
  /** @throws AppError embedding_not_found */
  get(name: string): Promise<EmbeddingDetail>
  /** @throws AppError embedding_not_found, backfill_in_progress */
  backfill(name: string, wantsAll: boolean, origin: RequestOrigin): Promise<KeptEmbedding>
}

const shownFailures = 100

export function createKeptEmbeddingService(deps: EmbeddingDeps): KeptEmbeddingService {
  const { settings, embedders, database, catalog, queue } = deps

  async function list(): Promise<KeptEmbedding[]> {
    return (await queries.listEmbeddings(database)).flatMap((row) => {
      const found = settings[row.name]
      // Configured by another node.
      if (found === undefined) return []
      const target = findTarget(catalog.current, embedders, found)
      const embedder = embedders.find(found.model)
      return [
        {
          name: row.name,
          table: found.table,
          columns: found.columns,
          vectorColumn: found.vector_column,
          model: embedder === undefined ? null : `${embedder.model.provider}:${embedder.model.name}`,
          provider: embedder === undefined ? null : showProvider(embedder),
          problem: 'problem' in target ? target.problem : null,
          isOutdated: row.is_outdated,
          pending: Number(row.pending),
          failed: Number(row.failed),
          written: Number(row.written),
          lastWrittenAt: row.last_written_at?.toISOString() ?? null,
          lastError: row.last_error,
          backfill: showBackfill(row),
        },
      ]
    })
  }

  async function find(name: string): Promise<KeptEmbedding> {
    const found = (await list()).find((embedding) => embedding.name === name)
    if (found === undefined) throw keptEmbeddingErrors.embeddingNotFound(name)
    return found
  }

  return {
    list,

    async get(name) {
      const found = await find(name)
      const failures = await queries.listFailures(database, name, shownFailures)
      return {
        ...found,
        failures: failures.map(({ record_key, error }) => ({ recordKey: JSON.parse(record_key), error })),
      }
    },

    async backfill(name, wantsAll, origin) {
      await startBackfill(name, wantsAll, origin)
      queue.wake()
      return await find(name)
    },
  }

  async function startBackfill(name: string, wantsAll: boolean, origin: RequestOrigin): Promise<void> {
    if (!Object.hasOwn(settings, name)) throw keptEmbeddingErrors.embeddingNotFound(name)
    await database.transaction(async (transaction) => {
      const row = await queries.lockForBackfill(transaction, name)
      if (row === undefined) throw keptEmbeddingErrors.embeddingNotFound(name)
      if (row.isInProgress) throw keptEmbeddingErrors.backfillInProgress()
      const payload = { embedding: name, ...(wantsAll ? { all: true } : {}) }
      const job = await queue.enqueue(backfillJob, payload, transaction)
      await queries.recordBackfill(transaction, name, job)
      const action = 'embeddings.backfill'
      const detail = { all: wantsAll, job }
      await recordAudit(transaction, { actor: 'admin', action, target: name, detail, origin })
    })
  }
}

function showProvider({ model, breaker }: Embedder): ProviderState {
  return { name: model.provider, breaker: breaker.state, retryInSeconds: breaker.secondsClosedOff }
}

function showBackfill(row: queries.EmbeddingRow): Backfill | null {
  if (row.backfill_job === null) return null
  return {
    jobId: row.backfill_job,
    // The job itself is kept for `jobs.retention_days`.
    state: row.backfill_state ?? (row.backfill_finished_at === null ? 'failed' : 'completed'),
    rows: row.backfill_rows === null ? null : Number(row.backfill_rows),
    startedAt: row.backfill_started_at?.toISOString() ?? null,
    finishedAt: row.backfill_finished_at?.toISOString() ?? null,
  }
}
