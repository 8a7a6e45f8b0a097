import { Compile } from 'typebox/schema'
import { describeValidation } from '../../../http/errors/error-handler.ts'
import { isObject } from '../../../lib/json.ts'
import type { TSchema } from '../../../lib/type.ts'
import { runtimeErrors } from './errors.ts'
import type { JobDescription, RouteDescription } from './messages.ts'

type Validator = ReturnType<typeof Compile>

/** Validators of the schemas that are JSON Schemas. The child validates those of other libraries. */
export class SchemaChecks {
  readonly #validators = new WeakMap<object, Validator>()

  /** Returns the input in the types of its schema. @throws AppError invalid_input */
  readInput(description: RouteDescription | JobDescription, given: unknown): unknown {
    const { input } = description
    const value = isQuery(description) ? readQuery(description, given) : given
    if (input === undefined) return value
    const validator = this.#validatorOf(input)
    if (validator.Check(value)) return value
    const [, errors] = validator.Errors(value)
    throw runtimeErrors.invalidInput(describe(errors, 'input'))
  }

  /** Checks a result. @throws AppError function_failed */
  checkOutput({ output, name }: RouteDescription, json: string | undefined): void {
    if (output === undefined) return
    const value: unknown = json === undefined ? undefined : JSON.parse(json)
    const validator = this.#validatorOf(output)
    if (validator.Check(value)) return
    const [, errors] = validator.Errors(value)
    const problem = describe(errors, 'result')
    throw runtimeErrors
      .functionFailed()
      .with({ cause: new Error(`the result of ${name} is invalid: ${problem}`) })
  }

  #validatorOf(schema: object): Validator {
    let validator = this.#validators.get(schema)
    if (validator === undefined) {
      validator = Compile(schema as TSchema)
      this.#validators.set(schema, validator)
    }
    return validator
  }
}

/** Returns the first fault as `quantity: must be integer`; a fault of the whole has its name. */
function describe(errors: ReturnType<Validator['Errors']>[1], whole: string): string {
  const [first] = errors
  const problem = describeValidation({ validation: first === undefined ? [] : [first] })
  return problem.replace(/^request /, `${whole} `)
}

/** Returns true if the input of a function is the query of its address. */
function isQuery(description: RouteDescription | JobDescription): description is RouteDescription {
  return description.kind === 'route' && /^(GET|DELETE)$/.test(description.method)
}

/** Converts texts of parameters to the types of their schema, where they have the form of one. */
function readQuery({ input, documentedInput }: RouteDescription, given: unknown = {}): unknown {
  const schema = input ?? documentedInput
  if (schema === undefined || !isObject(given)) return given
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, readParameter(value, findMembers(schema, name))]),
  )
}

/** Keywords of JSON Schema that determine the type of a parameter. */
interface ParameterSchema {
  readonly type?: unknown
  readonly const?: unknown
  readonly enum?: unknown
  readonly items?: unknown
  readonly anyOf?: unknown
  readonly oneOf?: unknown
}

/** Returns the schemas that a member of an object has in the parts of its schema. */
function findMembers(schema: object, name: string): ParameterSchema[] {
  const { properties, additionalProperties, allOf, anyOf, oneOf } = schema as Readonly<
    Record<string, unknown>
  >
  const isOwn = isObject(properties) && Object.hasOwn(properties, name)
  const own = isOwn ? (properties as Readonly<Record<string, unknown>>)[name] : additionalProperties
  const parts = [allOf, anyOf, oneOf].filter(Array.isArray).flat().filter(isObject)
  return [...variantsOf(own), ...parts.flatMap((part) => findMembers(part, name))]
}

/** Returns the schemas of which a value has to fit one. */
function variantsOf(schema: unknown): ParameterSchema[] {
  if (!isObject(schema)) return []
  const { anyOf, oneOf }: ParameterSchema = schema
  const variants = [anyOf, oneOf].filter(Array.isArray).flat()
  return variants.length === 0 ? [schema] : variants.flatMap(variantsOf)
}

/** Returns the value of a parameter. A list with one item arrives as a text. */
function readParameter(value: unknown, variants: readonly ParameterSchema[]): unknown {
  const types = typesOf(variants)
  const isList = Array.isArray(value) || (types.size === 1 && types.has('array'))
  if (!isList) return readText(value, variants)
  const items = variants.flatMap((variant) => variantsOf(variant.items))
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.map((item) => readText(item, items))
}

function readText(value: unknown, variants: readonly ParameterSchema[]): unknown {
  if (typeof value !== 'string' || variants.some((variant) => acceptsText(variant, value))) return value
  const types = typesOf(variants)
  if (types.has('boolean') && /^(true|false)$/.test(value)) return value === 'true'
  const isNumber = types.has('integer') || types.has('number')
  if (!isNumber || !/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value)) return value
  const number = Number(value)
  return Number.isFinite(number) ? number : value
}

/** Returns the types that values can have. A query has no null. */
function typesOf(variants: readonly ParameterSchema[]): ReadonlySet<unknown> {
  const types = variants.flatMap(
    (variant) => literalsOf(variant)?.map((value) => typeof value) ?? [variant.type].flat(),
  )
  return new Set(types.filter((type) => type !== 'null'))
}

function acceptsText(variant: ParameterSchema, text: string): boolean {
  const literals = literalsOf(variant)
  if (literals !== undefined) return literals.includes(text)
  return variant.type === undefined || [variant.type].flat().includes('string')
}

/** Returns the only values of a schema; undefined if it has others. */
function literalsOf(variant: ParameterSchema): readonly unknown[] | undefined {
  if (Object.hasOwn(variant, 'const')) return [variant.const]
  return Array.isArray(variant.enum) ? variant.enum : undefined
}
