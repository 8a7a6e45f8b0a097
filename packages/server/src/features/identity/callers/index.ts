export { AccountCallers } from './callers.ts'
