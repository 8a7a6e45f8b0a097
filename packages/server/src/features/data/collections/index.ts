export { createCatalogAccess, mayBeOutdated } from './catalog-access.ts'
export { compileBodyTypes, compileBodyValue } from './compile/body.ts'
export { compileComparison } from './compile/comparison.ts'
export { collectionErrorTable } from './errors.ts'
export { findTextFault } from './parse/values.ts'
export { requireRls } from './require-rls.ts'

import type { Feature } from '../../../feature.ts'
import { collectionRoutes } from './routes.ts'
import { type CollectionDeps, createCollectionService } from './service.ts'

/** The REST API over every exposed table. */
export function collections(deps: CollectionDeps): Feature {
  const service = createCollectionService(deps)
  return { name: 'collections', routes: (app) => collectionRoutes(app, service, deps.catalog) }
}
