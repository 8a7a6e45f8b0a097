import type { FastifyInstance, FastifySchemaCompiler } from 'fastify'
import { Compile } from 'typebox/schema'
import type { AppError } from '../../lib/errors.ts'
import { suggestion } from '../../lib/suggestion.ts'
import { type TSchema, Type } from '../../lib/type.ts'
import { httpErrors } from '../errors/errors.ts'
import type { Documented } from '../schemas.ts'

type ValidatorCompiler = FastifySchemaCompiler<TSchema>
type Validate = ReturnType<ValidatorCompiler>

/**
 * Validates parts of a request against their schemas. Parameters arrive as texts. Only texts in the form of an
 * integer, `true` or `false` are converted; TypeBox's own conversion turns `true` and `1.5` into 1. A repeated
 * parameter is an array, which no schema accepts. Unknown parameters are rejected: a misspelled filter would
 * return everything.
 */
export const compileValidator: ValidatorCompiler = (route) => {
  let compiled: ReturnType<typeof Compile> | undefined
  const validate: Validate = (value) => {
    // Schemas are compiled at the first request, so that startup compiles none that is never used.
    compiled ??= Compile(route.schema)
    if (compiled.Check(value)) return { value }
    const [, errors] = compiled.Errors(value)
    const refusal = refusalOf(route, errors, value)
    if (refusal !== undefined) return { error: refusal }
    return { error: route.httpPart === 'querystring' ? errors.map(nameRepeated(value)) : errors }
  }
  if (route.httpPart === 'body') {
    // Fastify passes null when there is no body.
    return Type.IsOptional(route.schema)
      ? (body) => (body === null ? { value: body } : validate(body))
      : validate
  }
  const types = typesOf(route.schema)
  const known = route.httpPart === 'querystring' ? namesOf(route.schema) : undefined
  return (parameters) => {
    if (known !== undefined) {
      const unknown = Object.keys(parameters).find((name) => !known.includes(name) && !name.startsWith('_'))
      if (unknown !== undefined)
        return { error: httpErrors.unknownParameter(unknown, suggestion(unknown, known)) }
    }
    return validate(types.length === 0 ? parameters : readTypes(parameters, types))
  }
}

type Fault = ReturnType<ReturnType<typeof Compile>['Errors']>[1][number]

/**
 * Returns the error that the schema declares for a missing or invalid member. The first member in the order of
 * the schema decides. A parameter that is a text can only be invalid, whereas a body member can also have the
 * wrong type.
 */
function refusalOf(
  { schema, httpPart }: Parameters<ValidatorCompiler>[0],
  faults: readonly Fault[],
  request: Readonly<Record<string, unknown>>,
): AppError | undefined {
  for (const [name, { documented }] of Object.entries(propertiesOf(schema))) {
    if (documented?.refusal === undefined) continue
    const { missing, invalid } = documented.refusal
    const fault = faults.find((each) => isAbout(name, each))
    const isText = httpPart !== 'body' && typeof request[name] === 'string'
    if (fault === undefined || (fault.keyword === 'type' && !isText)) continue
    const isMissing = fault.keyword === 'required' || fault.keyword === 'minLength'
    const refusal = isMissing ? missing?.() : invalid?.(request[name])
    if (refusal !== undefined) return refusal
  }
  return undefined
}

function isAbout(name: string, { keyword, instancePath, params }: Fault): boolean {
  if (keyword !== 'required') return instancePath === `/${name}`
  const { requiredProperties } = params as { requiredProperties: readonly string[] }
  return instancePath === '' && requiredProperties.includes(name)
}

/**
 * Returns a function that names a repeated parameter as such. The client did not send the array that is made of
 * it.
 */
function nameRepeated(parameters: Readonly<Record<string, unknown>>) {
  return <Fault extends { keyword: string; instancePath: string; message: string }>(fault: Fault) =>
    Array.isArray(parameters[fault.instancePath.slice(1)])
      ? { ...fault, keyword: 'repeated', message: 'must not be repeated' }
      : fault
}

/**
 * Makes routes without declared parameters reject all parameters. Routes with the guard `public` or `optional`
 * keep ignoring them. Providers and OAuth clients call those with parameters of their own (RFC 6749, section
 * 3.2), and links to pages carry campaign tags.
 */
export function refuseUndeclaredParameters(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { guard } = route.config ?? {}
    if (guard === 'public' || guard === 'optional') return
    route.schema = { querystring: noParameters, ...route.schema }
  })
}

const noParameters = Type.Object({})

/** Returns the names of parameters; undefined where the schema allows any. */
function namesOf(schema: TSchema): readonly string[] | undefined {
  const { additionalProperties } = schema as { additionalProperties?: unknown }
  return additionalProperties === true ? undefined : Object.keys(propertiesOf(schema))
}

interface Member {
  readonly type?: unknown
  readonly documented?: Documented
}

function propertiesOf(schema: TSchema): Readonly<Record<string, Member>> {
  const { properties = {} } = schema as { properties?: Readonly<Record<string, Member>> }
  return properties
}

type ParameterType = 'integer' | 'boolean'

function typesOf(schema: TSchema): readonly (readonly [name: string, type: ParameterType])[] {
  return Object.entries(propertiesOf(schema)).flatMap(([name, { type }]) =>
    type === 'integer' || type === 'boolean' ? [[name, type] as const] : [],
  )
}

function readTypes(parameters: unknown, types: ReturnType<typeof typesOf>): unknown {
  const read: Record<string, unknown> = { ...(parameters as Readonly<Record<string, unknown>>) }
  for (const [name, type] of types) {
    const value = read[name]
    if (typeof value !== 'string') continue
    if (type === 'integer' && /^-?\d{1,15}$/.test(value)) read[name] = Number(value)
    if (type === 'boolean' && (value === 'true' || value === 'false')) read[name] = value === 'true'
  }
  return read
}
