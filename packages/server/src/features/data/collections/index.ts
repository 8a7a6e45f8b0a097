export { bodyOf, type Caller, callerOf, queryOf } from './caller.ts'
export { createCatalogAccess, mayBeOutdated } from './catalog-access.ts'
export { compileBodyTypes, compileBodyValue } from './compile/body.ts'
export { compileComparison } from './compile/comparison.ts'
export { compileFilter } from './compile/filter.ts'
export { compileJsonValue } from './compile/json-value.ts'
export { compileSelectList, relationName } from './compile/record.ts'
export { collectionErrorTable } from './errors.ts'
export { formatPage } from './list-page.ts'
export { parseListQuery } from './parse/list-query.ts'
export { findTextFault, requireFittingValue } from './parse/values.ts'
export { type ListPlan, planList } from './plan/list.ts'
export { maySelect, privilegesOf, type Reader } from './plan/reader.ts'
export { planWholeRecord } from './plan/record.ts'
export { createAdmission } from './public-access.ts'
export { requireRls } from './require-rls.ts'
export { fill, StatementCache, type Template } from './statements.ts'

import type { Feature } from '../../../feature.ts'
import { collectionRoutes } from './routes.ts'
import { type CollectionDeps, createCollectionService } from './service.ts'

/** The REST API over every exposed table. */
export function collections(deps: CollectionDeps): Feature {
  const service = createCollectionService(deps)
  return { name: 'collections', routes: (app) => collectionRoutes(app, service, deps.catalog) }
}
