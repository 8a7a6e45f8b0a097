import { adminOf } from '../../../http/access/authentication.ts'
import { holds } from '../../../http/access/permissions.ts'
import { accepted, ok, operation } from '../../../http/operation.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { type Answered, choice, component, listOf, nullable, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { recordAdminAction } from '../../operations/audit/index.ts'
import { backfillJob } from './backfill.ts'
import { automaticEmbeddingErrors } from './errors.ts'
import * as queries from './queries.ts'
import { findTarget } from './target.ts'
import type { EmbeddingDeps } from './update.ts'

/** Members that all operations below share. */
const common = { guard: 'admin', permission: 'operations.read', tag: 'embeddings' } as const
const collection = '/api/admin/embeddings'
const item = `${collection}/:name`
const params = Type.Object({
  name: Type.String({ description: 'Name of the embedding in the configuration.' }),
})

const members = {
  name: Type.String(),
  table: Type.String(),
  columns: Type.Array(Type.String()),
  vectorColumn: Type.String(),
  model: nullable(Type.String(), { description: '`provider:model`; null if no model is configured.' }),
  provider: nullable(
    Type.Object({
      name: Type.String(),
      breaker: choice(['closed', 'open', 'half-open'], {
        description:
          'State of the provider’s circuit breaker. `closed`: requests are sent. `open`: no requests are sent for a while, after repeated failures. `half-open`: the next request is a trial.',
      }),
      retryInSeconds: Type.Integer({
        description: 'Seconds until requests to the provider are possible again; 0 if they already are.',
      }),
    }),
    { description: 'Provider of the model, as the node that responds sees it.' },
  ),
  problem: nullable(Type.String(), {
    description: 'Reason why the vector column cannot be updated, such as a missing table.',
  }),
  isOutdated: Type.Boolean({
    description:
      'True if existing rows have not been queued since the configuration of the embedding changed.',
  }),
  pending: Type.Integer({ description: 'Number of rows that wait for their vector.' }),
  failed: Type.Integer({ description: 'Number of rows whose text the provider rejects.' }),
  written: Type.Integer({ description: 'Number of vectors written so far.' }),
  lastWrittenAt: nullable(timestamp),
  lastError: nullable(Type.String()),
  backfill: nullable(
    component(
      'EmbeddingBackfill',
      Type.Object({
        jobId: Type.String(),
        state: Type.String({ description: 'State of the backfill job.' }),
        rows: nullable(Type.Integer(), {
          description: 'Number of rows that the backfill has queued; null until then.',
        }),
        startedAt: nullable(timestamp),
        finishedAt: nullable(timestamp),
      }),
    ),
  ),
}

/** Vector column that Basalt updates, with its progress. */
const Embedding = component('Embedding', Type.Object(members))
type Embedding = Answered<typeof Embedding>

const list = operation({
  ...common,
  id: 'embeddings.list',
  method: 'GET',
  path: collection,
  summary: 'List automatic embeddings',
  success: ok(listOf(Embedding)),
  async handle(deps: EmbeddingDeps, { http }) {
    const found = await listEmbeddings(deps)
    const items = holds(adminOf(http).role, 'bodies.read') ? found : found.map(withoutError)
    return { items, count: items.length }
  },
})

const get = operation({
  ...common,
  id: 'embeddings.get',
  method: 'GET',
  path: item,
  summary: 'Get an automatic embedding with its failed rows',
  description: 'The role `viewer` gets no errors and no keys of rows.',
  params,
  success: ok(
    component(
      'EmbeddingDetail',
      Type.Object({
        ...members,
        failures: Type.Array(Type.Object({ recordKey: Type.Array(Type.Unknown()), error: Type.String() }), {
          description: 'The 100 rows that failed first.',
        }),
      }),
    ),
  ),
  async handle(deps: EmbeddingDeps, { params: { name }, http }) {
    const embedding = await getEmbedding(deps, name)
    const failures = await queries.listFailures(deps.database, name, 100)
    if (holds(adminOf(http).role, 'bodies.read')) return { ...embedding, failures }
    return { ...withoutError(embedding), failures: failures.map(() => ({ recordKey: [], error: '' })) }
  },
})

/** Removes the error, which may quote a row. */
const withoutError = (embedding: Embedding): Embedding => ({ ...embedding, lastError: null })

const backfill = operation({
  ...common,
  id: 'embeddings.backfill',
  permission: 'operations.write',
  method: 'POST',
  path: `${item}/backfill`,
  summary: 'Backfill the vectors of existing rows',
  description:
    'Queues rows without a vector. Queues all rows if model, columns or template have changed since the last backfill. A job queues them; `pending` shows the progress.',
  params,
  body: Type.Optional(
    Type.Object({
      all: Type.Optional(Type.Boolean({ description: 'True to queue rows that already have a vector too.' })),
    }),
  ),
  success: accepted(Embedding),
  async handle(deps: EmbeddingDeps, { params: { name }, body, origin }) {
    await startBackfill(deps, name, body?.all ?? false, origin)
    deps.queue.wake()
    return await getEmbedding(deps, name)
  },
})

/** Operations that list embeddings and start backfills. */
export const embeddingOperations = [list, get, backfill]

async function listEmbeddings({
  settings,
  embedders,
  database,
  catalog,
}: EmbeddingDeps): Promise<Embedding[]> {
  return (await queries.listEmbeddings(database)).flatMap(({ name, backfill, ...state }) => {
    const configured = settings[name]
    // Another node has configured this one.
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
  if (found === undefined) throw automaticEmbeddingErrors.embeddingNotFound(name)
  return found
}

/** @throws AppError embedding_not_found, backfill_in_progress */
async function startBackfill(
  { settings, database, queue }: EmbeddingDeps,
  name: string,
  all: boolean,
  origin: RequestOrigin,
): Promise<void> {
  if (!Object.hasOwn(settings, name)) throw automaticEmbeddingErrors.embeddingNotFound(name)
  await database.transaction(async (transaction) => {
    const row = await queries.lockForBackfill(transaction, name)
    if (row === undefined) throw automaticEmbeddingErrors.embeddingNotFound(name)
    if (row.isInProgress) throw automaticEmbeddingErrors.backfillInProgress()
    const payload = { embedding: name, ...(all ? { all } : {}) }
    const job = await queue.enqueue(backfillJob, payload, transaction)
    await queries.recordBackfill(transaction, name, job)
    await recordAdminAction(transaction, 'embeddings.backfill', name, origin, { all, job })
  })
}
