export { type Asker, clauseOf, combinePolicies, decidingPolicies, type PolicyCommand } from './deciding.ts'
export { compileRecords, compileStoredRows, placeColumn } from './given-rows.ts'
