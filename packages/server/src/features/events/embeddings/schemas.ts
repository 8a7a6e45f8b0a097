import { bearerSecurity, component, listOf, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const tags = ['embeddings']
const security = bearerSecurity
const orNull = Type.Union([Type.String(), Type.Null()])
const timestampOrNull = Type.Union([Type.String(), Type.Null()], { description: 'RFC 3339, UTC.' })

const embeddingMembers = {
  name: Type.String(),
  table: Type.String(),
  columns: Type.Array(Type.String()),
  vectorColumn: Type.String(),
  model: Type.Union([Type.String(), Type.Null()], { description: '`provider:model`' }),
  provider: Type.Union(
    [
      Type.Object({
        name: Type.String(),
        breaker: Type.Enum(['closed', 'open', 'half-open'], {
          description:
            '`closed`: it is asked; `open`: not for a while, after failures in a row; `half-open`: the next request tries it.',
        }),
        retryInSeconds: Type.Integer({ description: 'Until it is asked again.' }),
      }),
      Type.Null(),
    ],
    { description: 'As the node that answers knows it.' },
  ),
  problem: Type.Union([Type.String(), Type.Null()], {
    description: 'What keeps it from being kept current, such as a missing table.',
  }),
  isOutdated: Type.Boolean({
    description: 'Whether existing rows have not been queued since it was configured as it is.',
  }),
  pending: Type.Integer({ description: 'Rows that wait for their vector.' }),
  failed: Type.Integer({ description: 'Rows whose text the provider refuses.' }),
  written: Type.Integer({ description: 'Vectors written so far.' }),
  lastWrittenAt: timestampOrNull,
  lastError: orNull,
  backfill: Type.Union([
    component(
      'EmbeddingBackfill',
      Type.Object({
        jobId: Type.String(),
        state: Type.String({ description: 'As of jobs.' }),
        rows: Type.Union([Type.Integer(), Type.Null()], { description: 'Rows it has queued.' }),
        startedAt: timestampOrNull,
        finishedAt: timestampOrNull,
      }),
    ),
    Type.Null(),
  ]),
}

const embedding = component('Embedding', Type.Object(embeddingMembers))

const params = Type.Object({ name: Type.String({ description: 'As in the configuration.' }) })

export const listEmbeddingsSchema = {
  tags,
  security,
  summary: 'List the vector columns that are kept current',
  response: responses({
    200: listOf(embedding),
  }),
}

export const getEmbeddingSchema = {
  tags,
  security,
  summary: 'Get a vector column that is kept current, with the rows that failed',
  params,
  response: responses({
    200: Type.Object({
      ...embeddingMembers,
      failures: Type.Array(Type.Object({ recordKey: Type.Array(Type.Unknown()), error: Type.String() })),
    }),
  }),
}

export const backfillEmbeddingSchema = {
  tags,
  security,
  summary: 'Queue existing rows for their vectors',
  description:
    'Rows without a vector, and all rows when model, columns or template have changed since the last time. A job does it; `pending` is its progress.',
  params,
  body: Type.Optional(
    Type.Object({
      all: Type.Optional(Type.Boolean({ description: 'Also rows that have a vector.' })),
    }),
  ),
  response: responses({ 202: embedding }),
}
