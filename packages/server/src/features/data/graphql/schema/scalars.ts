import {
  GraphQLError,
  GraphQLFloat,
  GraphQLInt,
  GraphQLScalarType,
  Kind,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql'
import { isObject } from '../../../../lib/json.ts'
import { RawNumber, readNumber } from '../raw-number.ts'

/**
 * Scalars beside those of the specification. Values are texts as PostgreSQL reads them, so that no digit is lost; JSON
 * values stay JSON. What responses hold is made by PostgreSQL.
 */

interface ScalarDefinition {
  readonly name: string
  readonly description: string
  /** Returns the value; undefined when it is none of the scalar. */
  readonly parse: (value: unknown) => unknown
  readonly expects: string
}

function createScalar({ name, description, parse, expects }: ScalarDefinition): GraphQLScalarType {
  const parseValue = (value: unknown) => {
    const parsed = parse(value)
    if (parsed === undefined) throw new GraphQLError(`${name}: expected ${expects}`)
    return parsed
  }
  return new GraphQLScalarType({
    name,
    description,
    parseValue,
    parseLiteral: (node, variables) => parseValue(readLiteral(node, variables)),
  })
}

/** Returns the value of a literal; a number as it is written, where a JSON number would lose digits. */
function readLiteral(node: ValueNode, variables: Parameters<typeof valueFromASTUntyped>[1]): unknown {
  if (node.kind === Kind.INT || node.kind === Kind.FLOAT) return readNumber(node.value)
  if (node.kind === Kind.LIST) return node.values.map((each) => readLiteral(each, variables))
  if (node.kind === Kind.OBJECT) {
    return Object.fromEntries(
      node.fields.map(({ name, value }) => [name.value, readLiteral(value, variables)]),
    )
  }
  return valueFromASTUntyped(node, variables)
}

/** `Int` of the specification, for numbers of requests. */
export const intScalar = new GraphQLScalarType({
  ...GraphQLInt.toConfig(),
  parseValue: (value) => GraphQLInt.parseValue(value instanceof RawNumber ? Number(value.text) : value),
})

const noNumbers: ReadonlySet<unknown> = new Set(['NaN', 'Infinity', '-Infinity'])

/** `Float` of the specification. Inputs may also be the texts of NaN and the infinities in responses. */
export const floatScalar = new GraphQLScalarType({
  ...GraphQLFloat.toConfig(),
  parseValue: readFloat,
  parseLiteral(node, variables) {
    return node.kind === Kind.OBJECT || node.kind === Kind.LIST
      ? GraphQLFloat.parseLiteral(node, variables)
      : readFloat(readLiteral(node, variables))
  },
})

function readFloat(value: unknown): unknown {
  if (noNumbers.has(value)) return value
  if (!(value instanceof RawNumber)) return GraphQLFloat.parseValue(value)
  GraphQLFloat.parseValue(Number(value.text))
  return value
}

/** Returns the digits of a number, which may have been sent as a string. */
function numberText(value: unknown): string | undefined {
  if (value instanceof RawNumber) return value.text
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined
  return typeof value === 'string' ? value.trim() : undefined
}

/** Returns `1.0` and `1e3` as integers. */
function wholeNumber(value: RawNumber): number | RawNumber {
  const number = Number(value.text)
  return Number.isSafeInteger(number) ? number : value
}

export const bigIntScalar = createScalar({
  name: 'BigInt',
  description: 'Integer of 64 bits, as a string of digits. Inputs may be numbers, too.',
  expects: 'an integer, as a number or a string of digits',
  parse(value) {
    const text = numberText(value instanceof RawNumber ? wholeNumber(value) : value)
    return text !== undefined && /^[+-]?\d+$/.test(text) ? text : undefined
  },
})

export const numericScalar = createScalar({
  name: 'Numeric',
  description: 'Number of any precision, as a string. Inputs may be numbers, too.',
  expects: 'a number, or a string that holds one',
  parse(value) {
    const text = numberText(value)
    const form = /^(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|NaN|[+-]?Infinity)$/i
    return text !== undefined && form.test(text) ? text : undefined
  },
})

export const dateTimeScalar = createScalar({
  name: 'DateTime',
  description: 'Point in time as RFC 3339 text; without an offset for a column without a time zone.',
  expects: 'a point in time, such as "2026-01-31T12:00:00Z"',
  parse: (value) => (typeof value === 'string' ? value : undefined),
})

export const jsonScalar = createScalar({
  name: 'JSON',
  description: 'Any JSON value.',
  expects: 'a JSON value',
  parse: (value) => value,
})

export const geoJsonScalar = createScalar({
  name: 'GeoJSON',
  description: 'GeoJSON geometry (RFC 7946).',
  expects: 'a GeoJSON geometry',
  parse: (value) => (isObject(value) || typeof value === 'string' ? value : undefined),
})

export const scalars = [bigIntScalar, numericScalar, dateTimeScalar, jsonScalar, geoJsonScalar]
