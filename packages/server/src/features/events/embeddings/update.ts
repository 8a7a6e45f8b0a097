import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { UserDatabase } from '../../../database/user-database.ts'
import { type JobQueue, JobRefused, type JobType } from '../../../job-queue.ts'
import { AppError } from '../../../lib/errors.ts'
import type { Embedders } from '../../data/embedding-provider/index.ts'
import * as queries from './queries.ts'
import { type EmbeddingSettings, type EmbeddingTarget, findTarget, formatVectorFor } from './target.ts'

const updateJob = 'embedding_update'

/** Payload that names the embedding of a job. */
export interface EmbeddingPayload {
  readonly embedding: string
}

export interface EmbeddingDeps {
  readonly settings: Readonly<Record<string, EmbeddingSettings>>
  readonly embedders: Embedders
  readonly database: SystemDatabase
  readonly user: Pick<UserDatabase, 'run'>
  readonly catalog: LiveCatalog
  readonly queue: JobQueue
}

/** Maximum number of texts in one request to the provider. */
const batchSize = 64
/** Run time of a job in milliseconds, after which another job takes over the remaining rows. */
const shiftMs = 300_000
/**
 * Lease of claimed rows in seconds. It is longer than a request to a provider can take, including the writes around it.
 */
const leaseSeconds = 900

/** Creates the job type that embeds the queued rows of one embedding, batch by batch, until the queue is empty. */
export function createUpdateJob({
  settings,
  embedders,
  database,
  user,
  catalog,
  queue,
}: EmbeddingDeps): JobType<EmbeddingPayload> {
  return {
    name: updateJob,
    // These attempts take about eight hours. A provider that fails for longer needs a person.
    retry: { attempts: 100, delay: 5, delayMax: 300, backoff: 2 },
    timeout: leaseSeconds,
    findProblem: ({ embedding }) => findNameProblem(settings, embedding),
    async handle({ embedding: name }, { signal }) {
      const target = await requireTarget(name)
      const endsAt = performance.now() + shiftMs
      for (;;) {
        signal.throwIfAborted()
        const rows = await queries.claimRows(database, name, { limit: batchSize, leaseSeconds })
        if (rows.length === 0) break
        await embedRows({ database, user }, name, target, rows, signal)
        if (performance.now() < endsAt) continue
        await database.transaction((transaction) => enqueueUpdate(queue, transaction, name))
        queue.wake()
        return
      }
      // A node that died has left its rows claimed.
      const seconds = await queries.secondsUntilFree(database, name)
      if (seconds === undefined) return
      const delaySeconds = Math.max(1, seconds)
      await database.transaction((transaction) => enqueueUpdate(queue, transaction, name, delaySeconds))
    },
  }

  async function requireTarget(name: string): Promise<EmbeddingTarget> {
    const found = settings[name]
    if (found === undefined) throw new JobRefused(`the configuration has no embeddings.${name}`)
    let target = findTarget(catalog.current, embedders, found)
    if ('problem' in target && (await catalog.refresh(catalog.current))) {
      target = findTarget(catalog.current, embedders, found)
    }
    if (!('problem' in target)) return target
    await queries.recordError(database, name, target.problem)
    throw new JobRefused(target.problem)
  }
}

/** Returns the problem with a name that an administrator sent, if any. */
export function findNameProblem(
  settings: Readonly<Record<string, EmbeddingSettings>>,
  name: unknown,
): string | undefined {
  if (typeof name === 'string' && Object.hasOwn(settings, name)) return undefined
  return 'embedding must be a name of the configuration'
}

/** Ensures that a job embeds the queued rows: a job that is queued already, or a new one. */
export async function enqueueUpdate(
  queue: JobQueue,
  transaction: Queryable,
  name: string,
  delaySeconds?: number,
): Promise<void> {
  const isForLater = delaySeconds !== undefined
  if (await queries.holdQueuedJob(transaction, updateJob, name, { isForLater })) return
  await queue.enqueue(updateJob, { embedding: name }, transaction, { delaySeconds })
}

async function embedRows(
  { database, user }: Pick<EmbeddingDeps, 'database' | 'user'>,
  name: string,
  target: EmbeddingTarget,
  rows: readonly queries.QueuedRow[],
  signal: AbortSignal,
): Promise<void> {
  try {
    const inputs = await database.transaction(async (transaction) => {
      await queries.requireAllRows(transaction)
      return await queries.readInputs(transaction, target, rows)
    })
    const withText = rows.flatMap((row) => {
      const input = inputs.get(row.record_key)?.input
      return input == null ? [] : [{ row, input }]
    })
    const { vectors, refused } = await embed(target, withText, signal)
    const emptied = [...inputs].flatMap(([key, { input, hasVector }]) =>
      input === null && hasVector ? [{ key, input, vector: null }] : [],
    )
    const failed = new Set(refused.map(({ row }) => row))
    // Vectors are written before the rows leave the queue. If the node dies in between, they are written once more.
    const written = await queries.writeVectors(user, target, [...vectors, ...emptied])
    await database.transaction(async (transaction) => {
      await queries.settleRows(
        transaction,
        name,
        rows.filter((row) => !failed.has(row)),
      )
      for (const { row, reason } of refused) await queries.failRow(transaction, name, row, reason)
      await queries.recordWritten(transaction, name, written)
    })
  } catch (error) {
    // The rows did not cause the error. The attempt of the job fails, and the next attempt claims them.
    await queries.releaseRows(database, name, rows)
    // The error that opened the breaker is recorded already and holds the reason.
    if (!(error instanceof AppError && error.kind === 'embedding_breaker_open')) {
      const message = error instanceof AppError ? error.message : 'the database refused the vectors'
      await queries.recordError(database, name, message)
    }
    throw error
  }
}

interface RowInput {
  readonly row: queries.QueuedRow
  readonly input: string
}

interface Embedded {
  readonly vectors: readonly queries.NewVector[]
  /** Rows whose text the provider rejects. */
  readonly refused: readonly { readonly row: queries.QueuedRow; readonly reason: string }[]
}

/** Embeds a batch. If the provider rejects it, each half is tried, so that one text does not hold up the others. */
async function embed(
  target: EmbeddingTarget,
  rows: readonly RowInput[],
  signal: AbortSignal,
): Promise<Embedded> {
  if (rows.length === 0) return { vectors: [], refused: [] }
  try {
    const found = await target.embedder.embed(
      rows.map(({ input }) => input),
      signal,
    )
    return {
      vectors: rows.map(({ row, input }, index) => toVector(target, row, input, found[index])),
      refused: [],
    }
  } catch (error) {
    if (!(error instanceof AppError) || error.kind !== 'embedding_refused') throw error
    if (rows.length === 1) {
      return { vectors: [], refused: rows.map(({ row }) => ({ row, reason: error.message })) }
    }
    const middle = Math.ceil(rows.length / 2)
    const halves = [
      await embed(target, rows.slice(0, middle), signal),
      await embed(target, rows.slice(middle), signal),
    ]
    const refused = halves.flatMap((half) => half.refused)
    // The request is wrong, not the texts.
    if (refused.length === rows.length) throw error
    return { vectors: halves.flatMap((half) => half.vectors), refused }
  }
}

function toVector(
  target: EmbeddingTarget,
  { record_key: key }: queries.QueuedRow,
  input: string,
  values: readonly number[] = [],
): queries.NewVector {
  const { dimensions, vector } = target
  if (dimensions !== undefined && values.length !== dimensions) {
    throw new JobRefused(
      `the model has ${values.length} dimensions, column "${vector.name}" expects ${dimensions}`,
    )
  }
  return { key, input, vector: formatVectorFor(target, values) }
}
