import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FunctionDescription } from '../messages.ts'

/** Member under which `@basaltdb/functions` leaves the definition of a function. */
const definitionKey = Symbol.for('basalt.function')

/** Definition as `@basaltdb/functions` makes it. */
export interface Definition {
  readonly version: number
  readonly kind: string
  readonly method: string
  readonly path: string
  readonly access: string
  readonly input: object | undefined
  readonly output: object | undefined
  readonly timeout: number | undefined
  readonly handler: (context: object, input: unknown) => unknown
  readonly openDatabase: (bridge: object) => object
}

export interface LoadedFunction {
  readonly definition: Definition
  readonly description: FunctionDescription
}

/** Schema that validates by itself (https://standardschema.dev). */
export interface StandardSchema {
  readonly '~standard': {
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

function definitionOf(value: unknown): Definition | undefined {
  if (typeof value !== 'object' || value === null || !(definitionKey in value)) return undefined
  return value[definitionKey] as Definition
}

/** @throws Error if this server cannot run the function */
function describe(file: string, exported: string, definition: Definition): FunctionDescription {
  const { version, kind, method, path, access, input, output, timeout } = definition
  if (version !== 1 || kind !== 'route')
    throw new Error(`${exported} is of a version of @basaltdb/functions that this server does not know`)
  if (!['anonymous', 'user', 'admin'].includes(access))
    throw new Error(`${exported}: access is ${JSON.stringify(access)}; expected anonymous, user or admin`)
  if (timeout !== undefined && !(typeof timeout === 'number' && timeout > 0))
    throw new Error(`${exported}: timeout is ${JSON.stringify(timeout)}; expected seconds above 0`)
  return {
    name: exported === 'default' ? file.replace(/\.m?[jt]s$/, '') : exported,
    file,
    // The package has checked it, and the server checks it again.
    method: method as FunctionDescription['method'],
    path,
    access: access as FunctionDescription['access'],
    hasInput: input !== undefined,
    ...(timeout === undefined ? {} : { timeout }),
    ...schemaMember('input', input),
    ...schemaMember('output', output),
  }
}

/** Returns a schema that the server validates, as JSON. */
function schemaMember(name: 'input' | 'output', schema: object | undefined): object {
  return schema === undefined || isStandard(schema) ? {} : { [name]: JSON.parse(JSON.stringify(schema)) }
}
