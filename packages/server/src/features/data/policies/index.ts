export { type Asker, clauseOf, decidingPolicies, type PolicyCommand } from './deciding.ts'
export { compileRecords, compileStoredRows, placeColumn } from './given-rows.ts'
