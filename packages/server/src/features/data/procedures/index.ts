export { procedureErrorTable } from './errors.ts'

import type { Feature } from '../../../feature.ts'
import { procedureRoutes } from './routes.ts'
import { createProcedureService, type ProcedureDeps } from './service.ts'

/** Functions of the database, called over HTTP. */
export function procedures(deps: ProcedureDeps): Feature {
  const service = createProcedureService(deps)
  return { name: 'procedures', routes: (app) => procedureRoutes(app, service, deps.catalog) }
}
