import type { Feature } from '../../../feature.ts'
import { advisorRoutes } from './routes.ts'
import { type AdvisorServiceDeps, createAdvisorService } from './service.ts'

export type { Advice } from './advice.ts'
export { listAdvice } from './advisors.ts'
export { advisorErrorTable } from './errors.ts'
export type { AdvisorServiceDeps } from './service.ts'

/** Says what of the database is open, slow or unhealthy, with the statement that mends it. */
export function advisors(deps: AdvisorServiceDeps): Feature {
  return { name: 'advisors', routes: (app) => advisorRoutes(app, createAdvisorService(deps)) }
}
