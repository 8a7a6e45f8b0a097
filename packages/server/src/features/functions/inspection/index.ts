import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { type InspectionDeps, inspectionOperations } from './operations.ts'

export { inspectionErrorTable } from './errors.ts'

/** Creates the feature that shows functions, their calls and their errors. */
export function inspection(deps: InspectionDeps): Feature {
  return { name: 'function-inspection', routes: (app) => addOperations(app, deps, inspectionOperations) }
}
