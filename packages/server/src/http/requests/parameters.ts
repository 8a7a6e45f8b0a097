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
 * Checks parts of a request against their schemas. Parameters come as texts: only what is written as an integer is
 * read as one, where TypeBox's own conversion makes 1 of `true` and of `1.5`. A parameter given twice is an array,
 * which no schema takes. One that the route does not know is refused: a misspelled filter would answer everything.
 */
export const compileValidator: ValidatorCompiler = (route) => {
  let compiled: ReturnType<typeof Compile> | undefined
  const validate: Validate = (value) => {
    // At the first request: a start compiles nothing that may never be asked for.
    compiled ??= Compile(route.schema)
    if (compiled.Check(value)) return { value }
    const [, errors] = compiled.Errors(value)
    const refusal = refusalOf(route.schema, errors, value)
    if (refusal !== undefined) return { error: refusal }
    return { error: route.httpPart === 'querystring' ? errors.map(nameRepeated(value)) : errors }
  }
  if (route.httpPart === 'body') {
    // Fastify hands null on when there is no body.
    return Type.IsOptional(route.schema)
      ? (body) => (body === null ? { value: body } : validate(body))
      : validate
  }
  const integers = integersOf(route.schema)
  const known = route.httpPart === 'querystring' ? namesOf(route.schema) : undefined
  return (parameters) => {
    if (known !== undefined) {
      const unknown = Object.keys(parameters).find((name) => !known.includes(name) && !name.startsWith('_'))
      if (unknown !== undefined)
        return { error: httpErrors.unknownParameter(unknown, suggestion(unknown, known)) }
    }
    return validate(integers.length === 0 ? parameters : readIntegers(parameters, integers))
  }
}

type Fault = ReturnType<ReturnType<typeof Compile>['Errors']>[1][number]

/**
 * Returns the error that the schema of a missing or invalid member names. The first member in the order of the schema
 * decides.
 */
function refusalOf(
  schema: TSchema,
  faults: readonly Fault[],
  request: Readonly<Record<string, unknown>>,
): AppError | undefined {
  for (const [name, { documented }] of Object.entries(propertiesOf(schema))) {
    if (documented?.refusal === undefined) continue
    const { missing, invalid } = documented.refusal
    const fault = faults.find((each) => isAbout(name, each))
    if (fault === undefined || fault.keyword === 'type') continue
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

/** The list that is made of a repeated parameter is nothing that the client has sent. */
function nameRepeated(parameters: Readonly<Record<string, unknown>>) {
  return <Fault extends { keyword: string; instancePath: string; message: string }>(fault: Fault) =>
    Array.isArray(parameters[fault.instancePath.slice(1)])
      ? { ...fault, keyword: 'repeated', message: 'must not be repeated' }
      : fault
}

/**
 * Makes routes that declare no parameters refuse all. Those with the guard `public` or `optional` keep ignoring them:
 * providers and OAuth clients call them with parameters of their own (RFC 6749, section 3.2), pages are linked to
 * with campaign tags.
 */
export function refuseUndeclaredParameters(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { guard } = route.config ?? {}
    if (guard === 'public' || guard === 'optional') return
    route.schema = { querystring: noParameters, ...route.schema }
  })
}

const noParameters = Type.Object({})

/** Names of parameters; undefined where the schema allows any. */
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

function integersOf(schema: TSchema): readonly string[] {
  return Object.entries(propertiesOf(schema)).flatMap(([name, { type }]) =>
    type === 'integer' ? [name] : [],
  )
}

function readIntegers(parameters: unknown, names: readonly string[]): unknown {
  const read: Record<string, unknown> = { ...(parameters as Readonly<Record<string, unknown>>) }
  for (const name of names) {
    const value = read[name]
    if (typeof value === 'string' && /^-?\d{1,15}$/.test(value)) read[name] = Number(value)
  }
  return read
}
