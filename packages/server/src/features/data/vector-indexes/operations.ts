import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { created, noContent, ok, operation } from '../../../http/operation.ts'
import { component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { withCatalog } from '../collections/index.ts'
import type { IndexBuilder } from './build.ts'
import { CreateVectorIndex, methods, metricOf, metrics, planVectorIndex } from './definition.ts'
import { vectorIndexErrors } from './errors.ts'
import { findVectorIndex, listVectorIndexes, VectorIndex } from './queries.ts'

export interface VectorIndexContext {
  readonly database: SystemDatabase
  readonly catalog: LiveCatalog
  readonly builder: IndexBuilder
}

/** Options that all operations below share. */
const common = { guard: 'admin', permission: 'structure.write', tag: 'vector indexes' } as const
const path = '/api/admin/vector/indexes'

const list = operation({
  ...common,
  id: 'vectorIndexes.list',
  permission: 'structure.read',
  method: 'GET',
  path,
  summary: 'List vector indexes',
  success: ok(Type.Object({ indexes: Type.Array(VectorIndex) })),
  async handle({ database, catalog }: VectorIndexContext) {
    const found = await listVectorIndexes(database, catalog.current.schemas)
    return {
      indexes: found.map(({ operatorClass, ...index }) => ({
        ...index,
        metric: metricOf(operatorClass) ?? null,
      })),
    }
  },
})

const create = operation({
  ...common,
  id: 'vectorIndexes.create',
  method: 'POST',
  path,
  summary: 'Build a vector index',
  description:
    'The build does not block readers and writers. The response comes when it is done. It continues when the client disconnects. Only one index is built at a time.',
  body: CreateVectorIndex,
  success: created(
    component(
      'CreatedVectorIndex',
      Type.Object({
        index_name: Type.String(),
        method: Type.Enum(methods),
        metric: Type.Enum(metrics),
        table: Type.String(),
        column: Type.String(),
      }),
    ),
  ),
  async handle({ database, catalog, builder }: VectorIndexContext, { body, origin }) {
    const definition = await withCatalog(catalog, async (current) => planVectorIndex(current, body))
    await builder.build(definition)
    const { name: target, relation, column, method, metric } = definition
    const detail = { method, metric, table: relation.name, column: column.name }
    await recordAudit(database, { actor: 'admin', action: 'vector_indexes.create', target, detail, origin })
    return { index_name: target, ...detail }
  },
})

const remove = operation({
  ...common,
  id: 'vectorIndexes.delete',
  method: 'DELETE',
  path: `${path}/:name`,
  summary: 'Delete a vector index',
  params: Type.Object({ name: Type.String() }),
  query: Type.Object({
    schema: Type.Optional(Type.String({ description: 'Default: `public`.' })),
  }),
  success: noContent,
  async handle({ database, catalog, builder }: VectorIndexContext, { params, query, origin }) {
    const { schema = 'public' } = query
    const isExposed = catalog.current.schemas.includes(schema)
    const found = isExposed ? await findVectorIndex(database, schema, params.name) : undefined
    if (found === undefined) throw vectorIndexErrors.vectorIndexNotFound(params.name)
    await builder.drop(schema, params.name)
    await recordAudit(database, {
      actor: 'admin',
      action: 'vector_indexes.delete',
      target: params.name,
      detail: { schema, table: found.table },
      origin,
    })
  },
})

/** Operations on vector indexes. */
export const vectorIndexOperations = [list, create, remove]
