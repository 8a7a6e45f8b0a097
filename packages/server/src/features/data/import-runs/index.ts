export { ImportRuns } from './import-runs.ts'
