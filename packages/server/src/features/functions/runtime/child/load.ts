import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type {
  AfterDescription,
  BeforeDescription,
  FunctionDescription,
  RouteDescription,
} from '../messages.ts'
import { type SingleKind, singleKinds } from '../single-kinds.ts'
import { type DescribableSchema, describeSchema } from './json-schema.ts'

/** Member under which `@basaltdb/functions` leaves the definition of a function. */
const definitionKey = Symbol.for('basalt.function')

/** Members of every definition, as `@basaltdb/functions` makes it. */
interface CommonDefinition {
  readonly version: number
  readonly timeout: number | undefined
  readonly openDatabase: (bridge: object) => object
}

export interface RouteDefinition extends CommonDefinition {
  readonly kind: 'route'
  readonly method: string
  readonly path: string
  readonly access: string
  readonly admin?: boolean
  readonly input: object | undefined
  readonly output: object | undefined
  readonly handler: (context: object, input: unknown) => unknown
}

export interface BeforeDefinition extends CommonDefinition {
  readonly kind: 'before'
  readonly table: string
  readonly operations: readonly string[]
  readonly previous: boolean
  readonly handler: (context: object, change: object) => unknown
  readonly parse: (json: string) => unknown
  readonly stringify: (value: unknown) => string
}

export interface JobDefinition extends CommonDefinition {
  readonly kind: 'job'
  readonly job: string
  readonly input: object | undefined
  readonly retries: number | undefined
  readonly concurrency: number | undefined
  readonly handler: (context: object, payload: unknown) => unknown
}

export interface ScheduleDefinition extends CommonDefinition {
  readonly kind: 'schedule'
  readonly expression: string
  readonly timezone: string
  readonly retries: number | undefined
  readonly handler: (context: object, payload: unknown) => unknown
}

export interface AfterDefinition extends CommonDefinition {
  readonly kind: 'after'
  readonly table: string
  readonly operations: readonly string[]
  readonly retries: number | undefined
  readonly handler: (context: object, change: object) => unknown
  readonly parse: (json: string) => unknown
}

export interface InboundDefinition extends CommonDefinition {
  readonly kind: 'inbound'
  readonly inbound: string
  readonly as: 'anonymous' | 'admin'
  readonly admin?: boolean
  readonly tolerance: number
  readonly verify: (request: object, context: object) => unknown
  readonly handler: (context: object, message: object) => unknown
}

export interface SingleDefinition extends CommonDefinition {
  readonly kind: SingleKind
  readonly handler: (context: object, value: object) => unknown
}

export type Definition =
  | RouteDefinition
  | BeforeDefinition
  | AfterDefinition
  | JobDefinition
  | ScheduleDefinition
  | InboundDefinition
  | SingleDefinition

export interface LoadedFunction {
  readonly definition: Definition
  readonly description: FunctionDescription
}

/** Schema that validates by itself (https://standardschema.dev). */
export interface StandardSchema extends DescribableSchema {
  readonly '~standard': DescribableSchema['~standard'] & {
    validate(value: unknown): StandardResult | Promise<StandardResult>
  }
}

interface StandardResult {
  readonly value?: unknown
  readonly issues?: readonly {
    readonly message: string
    readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[]
  }[]
}

export function isStandard(schema: object | undefined): schema is StandardSchema {
  return schema !== undefined && '~standard' in schema
}

/** Imports the files of a folder, and returns the functions that they export, or what is wrong with them. */
export async function loadFunctions(
  folder: string,
): Promise<{ readonly loaded: readonly LoadedFunction[]; readonly problems: readonly string[] }> {
  const loaded: LoadedFunction[] = []
  const problems: string[] = []
  const names = (await readdir(folder)).filter((name) => /^[^._].*(?<!\.d|\.test)\.m?[jt]s$/.test(name))
  for (const file of names.toSorted()) {
    try {
      const module = (await import(pathToFileURL(join(folder, file)).href)) as Readonly<
        Record<string, unknown>
      >
      for (const [name, value] of Object.entries(module)) {
        const definition = definitionOf(value)
        if (definition !== undefined)
          loaded.push({ definition, description: describe(file, name, definition) })
      }
    } catch (error) {
      problems.push(`${file}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    }
  }
  return { loaded, problems }
}

/** Returns the definition of a function; undefined for any other value. */
export function definitionOf(value: unknown): Definition | undefined {
  if (typeof value !== 'object' || value === null || !(definitionKey in value)) return undefined
  return value[definitionKey] as Definition
}

/** @throws Error if this server cannot run the function */
function describe(file: string, exported: string, definition: Definition): FunctionDescription {
  const { version, kind, timeout } = definition
  if (
    version !== 1 ||
    !['route', 'before', 'after', 'job', 'schedule', 'inbound', ...singleKinds].includes(kind)
  )
    throw new Error(`${exported} is of a version of @basaltdb/functions that this server does not know`)
  if (timeout !== undefined && !(typeof timeout === 'number' && timeout > 0))
    throw new Error(`${exported}: timeout is ${JSON.stringify(timeout)}; expected seconds above 0`)
  const common = {
    name: exported === 'default' ? file.replace(/\.m?[jt]s$/, '') : exported,
    file,
    ...(timeout === undefined ? {} : { timeout }),
  }
  switch (kind) {
    case 'route':
      return { ...common, ...describeRoute(exported, definition) }
    case 'before':
      return { ...common, ...describeBefore(exported, definition) }
    case 'after':
      return { ...common, ...describeAfter(definition) }
    case 'job':
      return { ...common, ...describeJob(definition) }
    case 'schedule':
      return { ...common, ...describeSchedule(definition) }
    case 'inbound': {
      // The package has checked them, and the server checks them again.
      const { inbound, as, tolerance, admin = false } = definition
      return { ...common, kind, inbound, as, tolerance, ...(admin ? { admin } : {}) }
    }
    case 'onSignUp':
    case 'claims':
    case 'sendMail':
      return { ...common, kind }
  }
}

/** Describes a job. The package has checked its members, and the server checks them again. */
function describeJob({ job, input, retries, concurrency }: JobDefinition) {
  return {
    kind: 'job' as const,
    job,
    hasInput: input !== undefined,
    ...(retries === undefined ? {} : { retries }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...schemaMember('input', input),
  }
}

/** Describes a function for changes. The package has checked its members, and the server checks them again. */
function describeAfter({ table, operations, retries }: AfterDefinition) {
  return {
    kind: 'after' as const,
    table,
    operations: operations as AfterDescription['operations'],
    ...(retries === undefined ? {} : { retries }),
  }
}

function describeSchedule({ expression, timezone, retries }: ScheduleDefinition) {
  return {
    kind: 'schedule' as const,
    ...{ expression, timezone },
    ...(retries === undefined ? {} : { retries }),
  }
}

function describeRoute(
  exported: string,
  { method, path, access, admin = false, input, output }: RouteDefinition,
) {
  if (!['anonymous', 'user', 'admin'].includes(access))
    throw new Error(`${exported}: access is ${JSON.stringify(access)}; expected anonymous, user or admin`)
  return {
    kind: 'route' as const,
    // The package has checked it, and the server checks it again.
    method: method as RouteDescription['method'],
    path,
    access: access as RouteDescription['access'],
    ...(admin ? { admin } : {}),
    hasInput: input !== undefined,
    hasOutput: output !== undefined,
    ...schemaMember('input', input),
    ...schemaMember('output', output),
    ...documentedMember('input', input),
    ...documentedMember('output', output),
  }
}

function describeBefore(exported: string, { table, operations, previous }: BeforeDefinition) {
  if (typeof previous !== 'boolean')
    throw new Error(`${exported}: previous is ${JSON.stringify(previous)}; expected true or false`)
  // The package has checked them, and the server checks them again.
  return {
    kind: 'before' as const,
    table,
    operations: operations as BeforeDescription['operations'],
    previous,
  }
}

/** Returns a schema that the server validates, as JSON. */
function schemaMember(name: 'input' | 'output', schema: object | undefined): object {
  return schema === undefined || isStandard(schema) ? {} : { [name]: JSON.parse(JSON.stringify(schema)) }
}

/** Returns the description of a schema that validates by itself. The server does not validate by it. */
function documentedMember(side: 'input' | 'output', schema: object | undefined): object {
  const described = isStandard(schema) ? describeSchema(schema, side) : undefined
  if (described === undefined) return {}
  return side === 'input' ? { documentedInput: described } : { documentedOutput: described }
}
