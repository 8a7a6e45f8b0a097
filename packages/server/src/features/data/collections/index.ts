export type { Caller } from './access/caller.ts'
export {
  createCatalogAccess,
  mayBeOutdated,
  requireRelation,
  requireWritable,
  type WithCatalog,
} from './access/catalog-access.ts'
export { createAdmission } from './access/public-access.ts'
export { requireRls } from './access/require-rls.ts'
export { compileBodyTypes, compileBodyValue } from './compile/body.ts'
export { compileComparison } from './compile/comparison.ts'
export { type BoundValues, compileFilter } from './compile/filter.ts'
export { compileJsonValue } from './compile/json-value.ts'
export { compileOrder } from './compile/keyset.ts'
export { compileItem } from './compile/list.ts'
export { compileSelectList, relationName } from './compile/record.ts'
export { compileConditions } from './compile/rows.ts'
export { compileRank, compileTrigramKeys, compileVector } from './compile/search.ts'
export { partIndexName, searchIndexNames, searchIndexPrefixes } from './compile/search-index-names.ts'
export { collectionErrors, collectionErrorTable } from './errors.ts'
export { findConditionFault } from './faults/condition-faults.ts'
export { firstFailure } from './faults/probe.ts'
export type { BackgroundImports, ImportStatus, ReceivedImport } from './import/background.ts'
export { importErrors, importErrorTable } from './import/errors.ts'
export type { ImportResult } from './import/result.ts'
export type { Condition, Value } from './parse/condition.ts'
export { parseListQuery } from './parse/list-query.ts'
export { parseBodyId } from './parse/record-id.ts'
export { findTextFault, requireFittingValue } from './parse/values.ts'
export { type DistanceMetric, parseMetric } from './parse/vector.ts'
export { isComparable, planTest } from './plan/condition.ts'
export type { FilterPlan } from './plan/filter-plan.ts'
export { type ListPlan, planList, type ReadLimits } from './plan/list.ts'
export { lacksColumns, maySelect, privilegesOf, type Reader } from './plan/reader.ts'
export { planWholeRecord } from './plan/record.ts'
export type { PlanContext } from './plan/rows.ts'
export type { SearchDefinitions } from './plan/search.ts'
export {
  isSearchable,
  plainSearch,
  planVector,
  type SearchSettings,
  type SearchVector,
  type SearchWeight,
  searchedColumns,
} from './plan/search-vector.ts'
export { findVectorColumn, type VectorColumn } from './plan/vector.ts'
export { formatPage } from './read/page-request.ts'
export { readerOf } from './read/reading.ts'
export { bodyOf, callerOf, queryOf } from './request.ts'
export { type CollectionService, createCollectionService } from './service.ts'
export { fill, StatementCache, type Template } from './statement-cache.ts'

import type { Feature } from '../../../feature.ts'
import { importRoutes } from './import/routes.ts'
import { createImporter, type ImportDeps } from './import/service.ts'
import { collectionRoutes } from './routes.ts'
import { type CollectionDeps, createCollectionService } from './service.ts'

/** The REST API over every exposed table. */
export function collections({
  imports,
  ...deps
}: CollectionDeps & { readonly imports: ImportDeps }): Feature {
  const service = createCollectionService(deps)
  const importer = createImporter(imports)
  return {
    name: 'collections',
    routes(app) {
      collectionRoutes(app, service, deps.catalog)
      importRoutes(app, importer, deps.catalog)
    },
    stop: () => service.stop(),
  }
}
