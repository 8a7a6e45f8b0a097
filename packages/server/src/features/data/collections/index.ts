export { createCatalogAccess, mayBeOutdated, requireRelation, type WithCatalog } from './catalog-access.ts'
export { compileBodyTypes, compileBodyValue } from './compile/body.ts'
export { compileComparison } from './compile/comparison.ts'
export { compileMatch, compileRank, compileTrigramKeys, compileVector } from './compile/search.ts'
export { collectionErrorTable } from './errors.ts'
export { findTextFault } from './parse/values.ts'
export { type DistanceMetric, parseMetric } from './parse/vector.ts'
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
export { findVectorColumn, type VectorColumn } from './plan/vector.ts'
export { requireRls } from './require-rls.ts'
export { partIndexName, searchIndexNames, searchIndexPrefixes } from './search-index-names.ts'

import type { Feature } from '../../../feature.ts'
import { collectionRoutes } from './routes.ts'
import { type CollectionDeps, createCollectionService } from './service.ts'

/** The REST API over every exposed table. */
export function collections(deps: CollectionDeps): Feature {
  const service = createCollectionService(deps)
  return { name: 'collections', routes: (app) => collectionRoutes(app, service) }
}
