export { type CallerDependence, readCallerDependence } from './caller-dependence.ts'
export { type Asker, clauseOf, combinePolicies, decidingPolicies, type PolicyCommand } from './deciding.ts'
export { compileRecords, compileStoredRows, placeColumn } from './given-rows.ts'
export { columnsOfTerm, excludesUnnamed, idsNamedBy } from './term-verdicts.ts'
