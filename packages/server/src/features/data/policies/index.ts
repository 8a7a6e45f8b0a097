import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { createSlots } from '../../operations/throttle/index.ts'
import type { AccessContext } from './context.ts'
import { policyOperations } from './operations.ts'

export { applicablePolicies, combinePolicies, type PolicyReader } from './applicable-policies.ts'
export { type CallerDependence, readCallerDependence } from './caller-dependence.ts'
export {
  bindValues,
  type CaseFile,
  type PolicyCase,
  type Verb,
  verbOf,
} from './cases/case-file.ts'
export { readCaseFiles, writeCaseFile } from './cases/case-folder.ts'
export { scaffoldCases } from './cases/starter-cases.ts'
export { accessErrors, accessErrorTable } from './errors.ts'
export type { Callers, ExaminedCaller } from './examined-caller.ts'
export { type Gate, gate } from './gates/gate.ts'
export { compileRecords, ordinalColumn } from './input-rows.ts'
export type { CallerReference } from './schemas.ts'
export { columnsOfTerm, excludesUnnamed, idsNamedBy } from './term-verdicts.ts'

/** Creates the feature that explains policies: what callers may do with rows, and why. */
export function policies(context: Omit<AccessContext, 'slots'>): Feature {
  return {
    name: 'policies',
    routes: (app) => addOperations(app, { ...context, slots: createSlots() }, policyOperations),
  }
}
