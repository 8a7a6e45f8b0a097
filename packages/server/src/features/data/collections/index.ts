export { createCatalogAccess, mayBeOutdated } from './catalog-access.ts'
export { compileBodyTypes, compileBodyValue } from './compile/body.ts'
export { compileComparison } from './compile/comparison.ts'
export { collectionErrorTable } from './errors.ts'
export { importErrorTable } from './import/errors.ts'
export { findTextFault } from './parse/values.ts'
export { requireRls } from './require-rls.ts'

import type { Feature } from '../../../feature.ts'
import { importRoutes } from './import/routes.ts'
import { createImporter, type ImportDeps } from './import/service.ts'
import { collectionRoutes } from './routes.ts'
import { createCollectionService } from './service.ts'

/** The REST API over every exposed table. */
export function collections(deps: ImportDeps): Feature {
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
