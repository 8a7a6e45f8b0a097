import type { AfterContext, Context, HookContext, JobContext } from './context.ts'
import type { Bridge, CallDatabase } from './database.ts'
import type { InboundContext, InboundMessage, Verify } from './inbound.ts'
import type { Schema } from './schema.ts'

/** Member under which the server finds the definition of a function. Several versions of this package may be loaded. */
export const definitionKey = Symbol.for('basalt.function')

/** Callers that a function admits. Each includes those after it. */
export type Access = 'anonymous' | 'user' | 'admin'

/** Members of every definition. */
interface CommonDefinition {
  /** Version that changes when the server has to read the definition differently. */
  readonly version: 1
  readonly timeout: number | undefined
  readonly openDatabase: (bridge: Bridge) => CallDatabase
}

export interface RouteDefinition extends CommonDefinition {
  readonly kind: 'route'
  readonly method: string
  readonly path: string
  readonly access: Access
  /** True if its context has `asAdmin`. */
  readonly admin: boolean
  readonly input: Schema | undefined
  readonly output: Schema | undefined
  readonly handler: (context: Context<never>, input: never) => unknown
}

export interface BeforeDefinition extends CommonDefinition {
  readonly kind: 'before'
  readonly table: string
  readonly operations: readonly WriteOperation[]
  /** True if the hook gets the record before the change. */
  readonly previous: boolean
  readonly handler: (context: HookContext, change: never) => unknown
  /** Reads and writes the values of records. Large numbers keep their digits. */
  readonly parse: (json: string) => unknown
  readonly stringify: (value: unknown) => string
}

export interface JobDefinition extends CommonDefinition {
  readonly kind: 'job'
  /** Type of its jobs in the queue. */
  readonly job: string
  readonly input: Schema | undefined
  readonly retries: number | undefined
  readonly concurrency: number | undefined
  readonly handler: (context: JobContext, payload: never) => unknown
}

export interface ScheduleDefinition extends CommonDefinition {
  readonly kind: 'schedule'
  /** Cron expression of five fields. */
  readonly expression: string
  readonly timezone: string
  readonly retries: number | undefined
  readonly handler: (context: JobContext) => unknown
}

export interface AfterDefinition extends CommonDefinition {
  readonly kind: 'after'
  readonly table: string
  readonly operations: readonly WriteOperation[]
  readonly retries: number | undefined
  readonly handler: (context: AfterContext, change: never) => unknown
  /** Reads the change. Large numbers keep their digits. */
  readonly parse: (json: string) => unknown
}

export interface InboundDefinition extends CommonDefinition {
  readonly kind: 'inbound'
  /** Name in the address. */
  readonly inbound: string
  readonly as: 'anonymous' | 'admin'
  /** Maximum age of a message in seconds. */
  readonly tolerance: number
  /** True if its context has `asAdmin`. */
  readonly admin: boolean
  readonly verify: Verify
  readonly handler: (context: InboundContext, message: InboundMessage) => unknown
}

/** Kind of which a project has one function. */
export type SingleKind = 'onSignUp' | 'claims' | 'sendMail'

export interface SingleDefinition extends CommonDefinition {
  readonly kind: SingleKind
  readonly handler: (context: never, value: never) => unknown
}

/** Operation of the data API on a record. */
export type WriteOperation = 'create' | 'update' | 'delete'

/** Definition that the server reads. */
export type Definition =
  | RouteDefinition
  | BeforeDefinition
  | AfterDefinition
  | JobDefinition
  | ScheduleDefinition
  | InboundDefinition
  | SingleDefinition

/** Function of the project, as an export of a file. */
export interface FunctionDefinition {
  readonly [definitionKey]: Definition
}
