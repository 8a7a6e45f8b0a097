import { accepted, ok, operation } from '../../../http/operation.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { type Answered, choice, component, listOf, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { recordAdminAction } from '../../operations/audit/index.ts'
import { backfillJob } from './backfill.ts'
import { keptEmbeddingErrors } from './errors.ts'
import * as queries from './queries.ts'
import { findTarget } from './target.ts'
import type { EmbeddingDeps } from './update.ts'

/** Part of every description below. */
const common = { guard: 'admin', permission: 'owner', tag: 'embeddings' } as const
const collection = '/api/admin/embeddings'
const item = `${collection}/:name`
const params = Type.Object({ name: Type.String({ description: 'As in the configuration.' }) })

const members = {
  name: Type.String(),
  table: Type.String(),
  columns: Type.Array(Type.String()),
  vectorColumn: Type.String(),
  model: nullable(Type.String(), { description: '`provider:model`; null without one.' }),
  provider: nullable(
    Type.Object({
      name: Type.String(),
      breaker: choice(['closed', 'open', 'half-open'], {
        description:
          '`closed`: it is asked; `open`: not for a while, after failures in a row; `half-open`: the next request tries it.',
      }),
      retryInSeconds: Type.Integer({
        description: 'Until it is asked again; 0 when that may be at any moment.',
      }),
    }),
    { description: 'As the node that answers knows it.' },
  ),
  problem: nullable(Type.String(), {
    description: 'What keeps it from being kept current, such as a missing table.',
  }),
  isOutdated: Type.Boolean({
    description: 'True if existing rows have not been queued since it was configured as it is.',
  }),
  pending: Type.Integer({ description: 'Rows that wait for their vector.' }),
  failed: Type.Integer({ description: 'Rows whose text the provider refuses.' }),
  written: Type.Integer({ description: 'Vectors written so far.' }),
  lastWrittenAt: nullable(timestamp),
  lastError: nullable(Type.String()),
  backfill: nullable(
    component(
      'EmbeddingBackfill',
      Type.Object({
        jobId: Type.String(),
        state: Type.String({ description: 'As of jobs.' }),
        rows: nullable(Type.Integer(), { description: 'Rows it has queued; null before it has.' }),
        startedAt: nullable(timestamp),
        finishedAt: nullable(timestamp),
      }),
    ),
  ),
}

/** Vector column that is kept current, and how far it is. */
const Embedding = component('Embedding', Type.Object(members))
type Embedding = Answered<typeof Embedding>

const list = operation({
  ...common,
  id: 'embeddings.list',
  method: 'GET',
  path: collection,
  summary: 'List the vector columns that are kept current',
  success: ok(listOf(Embedding)),
  async handle(deps: EmbeddingDeps) {
    const items = await listEmbeddings(deps)
    return { items, count: items.length }
  },
})

const get = operation({
  ...common,
  id: 'embeddings.get',
  method: 'GET',
  path: item,
  summary: 'Get a vector column that is kept current, with the rows that failed',
  params,
  success: ok(
    component(
      'EmbeddingDetail',
      Type.Object({
        ...members,
        failures: Type.Array(Type.Object({ recordKey: Type.Array(Type.Unknown()), error: Type.String() }), {
          description: 'The first hundred.',
        }),
      }),
    ),
  ),
  async handle(deps: EmbeddingDeps, { params: { name } }) {
    const embedding = await getEmbedding(deps, name)
    return { ...embedding, failures: await queries.listFailures(deps.database, name, 100) }
  },
})

const backfill = operation({
  ...common,
  id: 'embeddings.backfill',
  method: 'POST',
  path: `${item}/backfill`,
  summary: 'Queue existing rows for their vectors',
  description:
    'Rows without a vector, and all rows when model, columns or template have changed since the last time. A job does it; `pending` is its progress.',
  params,
  body: Type.Optional(
    Type.Object({
      all: Type.Optional(Type.Boolean({ description: 'Also rows that have a vector.' })),
    }),
  ),
  success: accepted(Embedding),
  async handle(deps: EmbeddingDeps, { params: { name }, body, origin }) {
    await startBackfill(deps, name, body?.all ?? false, origin)
    deps.queue.wake()
    return await getEmbedding(deps, name)
  },
})

/** Vector columns that are kept current. */
export const embeddingOperations = [list, get, backfill]

async function listEmbeddings({
  settings,
  embedders,
  database,
  catalog,
}: EmbeddingDeps): Promise<Embedding[]> {
  return (await queries.listEmbeddings(database)).flatMap(({ name, backfill, ...state }) => {
    const configured = settings[name]
    // Configured by another node.
    if (configured === undefined) return []
    const { table, columns, vector_column: vectorColumn } = configured
    const target = findTarget(catalog.current, embedders, configured)
    const { model, breaker } = embedders.find(configured.model) ?? {}
    return {
      ...{ name, table, columns, vectorColumn },
      model: model === undefined ? null : `${model.provider}:${model.name}`,
      provider:
        model === undefined || breaker === undefined
          ? null
          : { name: model.provider, breaker: breaker.state, retryInSeconds: breaker.secondsClosedOff },
      problem: 'problem' in target ? target.problem : null,
      ...state,
      backfill: backfill.jobId === null ? null : { ...backfill, jobId: backfill.jobId },
    }
  })
}

/** @throws AppError embedding_not_found */
async function getEmbedding(deps: EmbeddingDeps, name: string): Promise<Embedding> {
  const found = (await listEmbeddings(deps)).find((embedding) => embedding.name === name)
  if (found === undefined) throw keptEmbeddingErrors.embeddingNotFound(name)
  return found
}

/** @throws AppError embedding_not_found, backfill_in_progress */
async function startBackfill(
  { settings, database, queue }: EmbeddingDeps,
  name: string,
  all: boolean,
  origin: RequestOrigin,
): Promise<void> {
  if (!Object.hasOwn(settings, name)) throw keptEmbeddingErrors.embeddingNotFound(name)
  await database.transaction(async (transaction) => {
    const row = await queries.lockForBackfill(transaction, name)
    if (row === undefined) throw keptEmbeddingErrors.embeddingNotFound(name)
    if (row.isInProgress) throw keptEmbeddingErrors.backfillInProgress()
    const payload = { embedding: name, ...(all ? { all } : {}) }
    const job = await queue.enqueue(backfillJob, payload, transaction)
    await queries.recordBackfill(transaction, name, job)
    await recordAdminAction(transaction, 'embeddings.backfill', name, origin, { all, job })
  })
}
