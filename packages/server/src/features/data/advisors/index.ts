import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { type AdvisorContext, advisorOperations } from './operations.ts'

export type { Advice } from './advice.ts'
export { listAdvice } from './advisors.ts'
export { advisorErrorTable } from './errors.ts'
export type { AdvisorContext } from './operations.ts'

/** Advises on access, indexes and health of the database, with the statement that resolves each finding. */
export function advisors(context: AdvisorContext): Feature {
  return { name: 'advisors', routes: (app) => addOperations(app, context, advisorOperations) }
}
