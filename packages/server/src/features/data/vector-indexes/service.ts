import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import type { WithCatalog } from '../collections/index.ts'
import type { IndexBuilder } from './build.ts'
import {
  type CreateVectorIndex,
  metricOf,
  planVectorIndex,
  type VectorIndexDefinition,
} from './definition.ts'
import { vectorIndexErrors } from './errors.ts'
import * as queries from './queries.ts'

/** An index of pgvector. */
export interface VectorIndex {
  readonly name: string
  readonly schema: string
  readonly table: string
  readonly method: string
  readonly definition: string
  /** Null of an index over an expression. */
  readonly column: string | null
  /** Null of one that the distances of the API do not use. */
  readonly metric: string | null
  readonly valid: boolean
  readonly sizeBytes: number
}

export interface CreatedVectorIndex {
  readonly index_name: string
  readonly method: string
  readonly metric: string
  readonly table: string
  readonly column: string
}

export interface VectorIndexService {
  list(): Promise<VectorIndex[]>
  /** Answers when the index is built. @throws AppError that names the field, and those of the build */
  create(input: CreateVectorIndex, origin: RequestOrigin): Promise<CreatedVectorIndex>
  /** @throws AppError vector_index_not_found */
  delete(schema: string, name: string, origin: RequestOrigin): Promise<void>
}

export interface VectorIndexServiceDeps {
  readonly database: SystemDatabase
  readonly catalog: LiveCatalog
  readonly withCatalog: WithCatalog
  readonly builder: IndexBuilder
}

export function createVectorIndexService(deps: VectorIndexServiceDeps): VectorIndexService {
  const { database, catalog, withCatalog, builder } = deps
  return {
    list: async () => (await queries.listVectorIndexes(database, catalog.current.schemas)).map(showIndex),

    async create(input, origin) {
      const definition = await withCatalog(async (current) => planVectorIndex(current, input))
      await builder.build(definition)
      const created = showCreated(definition)
      const { index_name: target, ...detail } = created
      await recordAudit(database, { actor: 'admin', action: 'vector_indexes.create', target, detail, origin })
      return created
    },

    async delete(schema, name, origin) {
      const isExposed = catalog.current.schemas.includes(schema)
      const found = isExposed ? await queries.findVectorIndex(database, schema, name) : undefined
      if (found === undefined) throw vectorIndexErrors.vectorIndexNotFound(name)
      await builder.drop(schema, name)
      const detail = { schema, table: found.table }
      await recordAudit(database, {
        actor: 'admin',
        action: 'vector_indexes.delete',
        target: name,
        detail,
        origin,
      })
    },
  }
}

function showCreated({ name, relation, column, method, metric }: VectorIndexDefinition): CreatedVectorIndex {
  return { index_name: name, method, metric, table: relation.name, column: column.name }
}

function showIndex(row: queries.VectorIndexRow): VectorIndex {
  return {
    name: row.name,
    schema: row.schema,
    table: row.table,
    method: row.method,
    definition: row.definition ?? '',
    column: row.column,
    metric: metricOf(row.operator_class) ?? null,
    valid: row.is_valid,
    sizeBytes: Number(row.size_bytes),
  }
}
