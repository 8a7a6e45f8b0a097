import { Type as TypeBox } from 'typebox'
import { describe, expect, test } from 'vitest'
import { Type } from './type.ts'

type Factory = keyof typeof Type

/** Schemas of each factory, and their combinations. */
const makers: Readonly<Record<Exclude<Factory, 'IsOptional'>, (type: typeof Type) => object>> = {
  Array: (type) => type.Array(type.Integer(), { minItems: 1 }),
  Boolean: (type) => type.Boolean({ default: true }),
  Enum: (type) => type.Enum(['a', 'b'], { description: 'one of two' }),
  Integer: (type) => type.Integer({ minimum: 1 }),
  Literal: (type) => type.Array(type.Union([type.Literal('a'), type.Literal(1), type.Literal(false)])),
  Null: (type) => type.Null({ description: 'nothing' }),
  Number: (type) => type.Number({ maximum: 1.5 }),
  Object: (type) =>
    type.Object({ a: type.String(), b: type.Optional(type.Object({})) }, { additionalProperties: false }),
  Optional: (type) => type.Object({ a: type.Optional(type.Optional(type.String({ minLength: 1 }))) }),
  Partial: (type) => type.Partial(type.Object({ a: type.String(), b: type.Optional(type.Integer()) })),
  Record: (type) =>
    type.Object({
      any: type.Record(type.String(), type.Unknown(), { description: 'by name' }),
      named: type.Record(type.String({ pattern: '^[a-z]+$' }), type.Integer(), { default: {} }),
    }),
  String: (type) => type.String({ pattern: '^x' }),
  Union: (type) => type.Union([type.String(), type.Null()], { description: 'a text or nothing' }),
  Unknown: (type) => type.Unknown({ description: 'anything' }),
  Unsafe: (type) => type.Unsafe<'a'>(type.String({ pattern: '^a$' })),
}

describe('schema', () => {
  test.each(Object.entries(makers))('from Type.%s equals that of TypeBox', (_, make) => {
    expect(JSON.stringify(make(Type))).toBe(JSON.stringify(make(TypeBox)))
  })

  test('is optional by its own mark alone', () => {
    const schema = Type.String()
    const optional = Type.Optional(schema)
    expect([schema, optional, { ...optional }, Type.Array(optional)].map(Type.IsOptional)).toEqual([
      false,
      true,
      false,
      false,
    ])
    expect(TypeBox.IsOptional(optional)).toBe(true)
  })
})
