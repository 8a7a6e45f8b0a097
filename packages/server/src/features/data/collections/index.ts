export { createCatalogAccess, mayBeOutdated, requireRelation } from './catalog-access.ts'
export { compileBodyTypes, compileBodyValue } from './compile/body.ts'
export { compileComparison } from './compile/comparison.ts'
export { compileMatch, compileRank, compileTrigramKeys, compileVector } from './compile/search.ts'
export { collectionErrorTable } from './errors.ts'
export { importErrorTable } from './import/errors.ts'
export { findTextFault } from './parse/values.ts'
export {
  isSearchable,
  plainSearch,
  planVector,
  type SearchDefinitions,
  type SearchSettings,
  type SearchVector,
  type SearchWeight,
  searchedColumns,
} from './plan/search.ts'
export { requireRls } from './require-rls.ts'
export { partIndexName, searchIndexNames, searchIndexPrefixes } from './search-index-names.ts'

import type { Feature } from '../../../feature.ts'
import { importRoutes } from './import/routes.ts'
import { createImporter, type ImportDeps } from './import/service.ts'
import { collectionRoutes } from './routes.ts'
import { type CollectionDeps, createCollectionService } from './service.ts'

/** The REST API over every exposed table. */
export function collections(deps: Omit<CollectionDeps, 'database'> & ImportDeps): Feature {
  const service = createCollectionService({ ...deps, database: deps.database.user })
  const importer = createImporter(deps)
  return {
    name: 'collections',
    routes(app) {
      collectionRoutes(app, service)
      importRoutes(app, importer)
    },
  }
}
