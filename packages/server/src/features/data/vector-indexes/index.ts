import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Database } from '../../../database/open.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { createIndexBuilder } from './build.ts'
import { vectorIndexOperations } from './operations.ts'

export { vectorIndexErrorTable } from './errors.ts'

export interface VectorIndexDeps {
  readonly database: Pick<Database, 'system' | 'aside' | 'engine'>
  readonly catalog: LiveCatalog
}

/** Creates the feature that lists, builds and drops pgvector indexes. */
export function vectorIndexes({ database, catalog }: VectorIndexDeps): Feature {
  const builder = createIndexBuilder(database)
  const context = { database: database.system, catalog, builder }
  return {
    name: 'vector-indexes',
    routes: (app) => addOperations(app, context, vectorIndexOperations),
    stop: () => builder.stop(),
  }
}
