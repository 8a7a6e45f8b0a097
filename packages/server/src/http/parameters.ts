import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import type { TSchema } from 'typebox'

type Compile = typeof TypeBoxValidatorCompiler

/**
 * Checks parts of a request against their schemas. Parameters come as texts: only what is written as an integer is
 * read as one, where TypeBox's own conversion makes 1 of `true` and of `1.5`. A parameter given twice is an array,
 * which no schema takes.
 */
export const compileValidator: Compile = (route) => {
  // TypeBox converts everything but bodies.
  const validate = TypeBoxValidatorCompiler({ ...route, httpPart: 'body' })
  if (route.httpPart === 'body') return validate
  const integers = integersOf(route.schema)
  if (integers.length === 0) return validate
  return (parameters) => validate(readIntegers(parameters, integers))
}

function integersOf(schema: TSchema): readonly string[] {
  const { properties = {} } = schema as { properties?: Readonly<Record<string, { type?: unknown }>> }
  return Object.entries(properties).flatMap(([name, { type }]) => (type === 'integer' ? [name] : []))
}

function readIntegers(parameters: unknown, names: readonly string[]): unknown {
  const read: Record<string, unknown> = { ...(parameters as Readonly<Record<string, unknown>>) }
  for (const name of names) {
    const value = read[name]
    if (typeof value === 'string' && /^-?\d{1,15}$/.test(value)) read[name] = Number(value)
  }
  return read
}
