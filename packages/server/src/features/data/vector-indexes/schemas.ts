import { bearerSecurity, component, noContent, requiredByHandler, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const tags = ['vector indexes']
const security = bearerSecurity

const method = Type.String({ description: '`hnsw` or `ivfflat`.' })
const metric = Type.String({ description: '`cosine`, `l2` or `inner_product`.' })

const vectorIndex = component(
  'VectorIndex',
  Type.Object({
    name: Type.String(),
    schema: Type.String(),
    table: Type.String(),
    method,
    definition: Type.String({ description: 'SQL.' }),
    column: Type.Union([Type.String(), Type.Null()], { description: 'null of an index over an expression.' }),
    metric: Type.Union([metric, Type.Null()]),
    valid: Type.Boolean({ description: 'Whether it is built.' }),
    sizeBytes: Type.Integer(),
  }),
)

export const listVectorIndexesSchema = {
  tags,
  security,
  summary: 'List vector indexes',
  response: responses({ 200: Type.Object({ indexes: Type.Array(vectorIndex) }) }),
}

export const createVectorIndexSchema = {
  tags,
  security,
  summary: 'Build a vector index',
  description:
    'Readers and writers of the table are not blocked. Answers when it is built, and continues when the client disconnects. One at a time.',
  body: Type.Object({
    table: requiredByHandler(Type.String()),
    column: requiredByHandler(Type.String()),
    method: requiredByHandler(method),
    metric: requiredByHandler(metric),
    schema: Type.Optional(Type.String({ description: 'public unless given.' })),
    index_name: Type.Optional(Type.String({ description: 'idx_<table>_<column>_<method> unless given.' })),
    lists: Type.Optional(Type.Number({ description: 'ivfflat: number of lists, 1 to 32768.' })),
    m: Type.Optional(Type.Number({ description: 'hnsw: links of each row, 2 to 100.' })),
    ef_construction: Type.Optional(
      Type.Number({ description: 'hnsw: candidates while building, 4 to 1000.' }),
    ),
  }),
  response: responses({
    201: Type.Object({
      index_name: Type.String(),
      method,
      metric,
      table: Type.String(),
      column: Type.String(),
    }),
  }),
}

export const deleteVectorIndexSchema = {
  tags,
  security,
  summary: 'Delete a vector index',
  params: Type.Object({ name: Type.String() }),
  querystring: Type.Object({
    schema: Type.Optional(Type.String({ description: 'public unless given.' })),
  }),
  response: responses({ 204: noContent }),
}
