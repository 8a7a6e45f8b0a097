import type { Type as TypeBox } from 'typebox'

export type { Static, TNull, TObject, TSchema, TUnsafe } from 'typebox'

type Factories = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'IsOptional'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Partial'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>

type Schema = Readonly<Record<string, unknown>>
type Properties = Readonly<Record<string, Schema>>

/** Property in which TypeBox, too, marks optional members: its functions accept these schemas. */
const optionalMark = '~optional'

/** Returns the same schema with a hidden mark, which neither JSON nor a copy of its members contains. */
function markOptional(schema: Schema): Schema {
  return Object.defineProperty({ ...schema }, optionalMark, { value: true })
}

function isOptional(schema: Schema): boolean {
  return Object.hasOwn(schema, optionalMark)
}

function objectOf(properties: Properties, options?: Schema): Schema {
  const required = Object.keys(properties).filter((name) => !isOptional(properties[name] ?? {}))
  return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...options }
}

/**
 * Factories with the types of TypeBox, limited to those in use. With its own factories TypeBox loads its whole
 * type system, three hundred modules, which the bundle leaves to the installation like every dependency.
 * `basalt config` takes 140 ms of processor time, and 323 ms with the factories of TypeBox (medians of ten,
 * alternating, on loaded cores); a start takes 1,275 and 1,435 ms. From sources these are 170 and 363 ms, and
 * 1,800 and 2,015 ms.
 */
export const Type = {
  Array: (items: Schema, options?: Schema) => ({ type: 'array', items, ...options }),
  Boolean: (options?: Schema) => ({ type: 'boolean', ...options }),
  Enum: (values: readonly unknown[], options?: Schema) => ({ enum: values, ...options }),
  Integer: (options?: Schema) => ({ type: 'integer', ...options }),
  IsOptional: isOptional,
  Literal: (value: unknown, options?: Schema) => ({ type: typeof value, const: value, ...options }),
  Null: (options?: Schema) => ({ type: 'null', ...options }),
  Number: (options?: Schema) => ({ type: 'number', ...options }),
  Object: objectOf,
  Optional: markOptional,
  Partial: ({ type: _, required: __, properties, ...options }: Schema & { properties: Properties }) =>
    objectOf(
      Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, markOptional(schema)])),
      options,
    ),
  Record: ({ pattern = '^.*$' }: { pattern?: string }, value: Schema, options?: Schema) => ({
    type: 'object',
    patternProperties: { [pattern]: value },
    ...options,
  }),
  String: (options?: Schema) => ({ type: 'string', ...options }),
  Union: (anyOf: readonly Schema[], options?: Schema) => ({ anyOf, ...options }),
  Unknown: (options?: Schema) => ({ ...options }),
  Unsafe: (schema: Schema) => ({ ...schema }),
  // The types of TypeBox describe the value of a schema, and these the schema itself. The test compares both at
  // run time.
} as unknown as Factories
