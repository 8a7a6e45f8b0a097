import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Database } from '../../../database/open.ts'
import type { Feature } from '../../../feature.ts'
import { createCatalogAccess } from '../collections/index.ts'
import { createIndexBuilder } from './build.ts'
import { vectorIndexRoutes } from './routes.ts'
import { createVectorIndexService } from './service.ts'

export { vectorIndexErrorTable } from './errors.ts'

export interface VectorIndexDeps {
  readonly database: Pick<Database, 'system' | 'aside' | 'engine'>
  readonly catalog: LiveCatalog
}

/** Indexes of pgvector: which there are, building and dropping them. */
export function vectorIndexes({ database, catalog }: VectorIndexDeps): Feature {
  const builder = createIndexBuilder(database)
  const service = createVectorIndexService({
    database: database.system,
    catalog,
    withCatalog: createCatalogAccess(catalog),
    builder,
  })
  return {
    name: 'vector-indexes',
    routes: (app) => vectorIndexRoutes(app, service),
    stop: () => builder.stop(),
  }
}
