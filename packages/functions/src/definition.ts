import type { Context } from './context.ts'
import type { Bridge, CallDatabase } from './database.ts'
import type { Schema } from './schema.ts'

/** Member under which the server finds the definition of a function. Several versions of this package may be loaded. */
export const definitionKey = Symbol.for('basalt.function')

/** Callers that a function admits. Each includes those after it. */
export type Access = 'anonymous' | 'user' | 'admin'

/** Definition that the server reads. Its version changes when the server has to read it differently. */
export interface Definition {
  readonly version: 1
  readonly kind: 'route'
  readonly method: string
  readonly path: string
  readonly access: Access
  readonly input: Schema | undefined
  readonly output: Schema | undefined
  readonly timeout: number | undefined
  readonly handler: (context: Context<never>, input: never) => unknown
  readonly openDatabase: (bridge: Bridge) => CallDatabase
}

/** Function of the project, as an export of a file. */
export interface FunctionDefinition {
  readonly [definitionKey]: Definition
}
