import type { Feature } from '../../../feature.ts'
import { type CallerDeps, Callers } from './caller/callers.ts'
import type { AccessContext } from './context.ts'
import { Slots } from './rehearsal/slots.ts'
import { accessRoutes } from './routes.ts'
import { createAccessService } from './service.ts'

export { accessErrorTable } from './errors.ts'
export type AccessPorts = Pick<AccessContext, 'openCollections' | 'planRows' | 'writeCases'>

/** Explanations at once on this node. */
const explanationLimit = 3

/** Why a caller may do something with a row, or may not. */
export function access({
  accounts,
  clock,
  ...context
}: Omit<AccessContext, 'callers' | 'slots'> & Pick<CallerDeps, 'accounts' | 'clock'>): Feature {
  const callers = new Callers({ accounts, clock, database: context.database.system })
  const service = createAccessService({ ...context, callers, slots: new Slots(explanationLimit) })
  return { name: 'access', routes: (app) => accessRoutes(app, service) }
}
