import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { type AdvisorContext, advisorOperations } from './operations.ts'

export type { Advice } from './advice.ts'
export { listAdvice } from './advisors.ts'
export { advisorErrorTable } from './errors.ts'
export type { AdvisorContext } from './operations.ts'

/**
 * Creates the feature that advises on access, indexes and health of the database, with a statement for each finding.
 */
export function advisors(context: AdvisorContext): Feature {
  return { name: 'advisors', routes: (app) => addOperations(app, context, advisorOperations) }
}
