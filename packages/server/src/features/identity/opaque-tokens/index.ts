export { OpaqueTokens } from './opaque-tokens.ts'
export { describeProgram, type OpenedProgram, type Scope } from './program.ts'
