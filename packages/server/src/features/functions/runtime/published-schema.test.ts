import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { publishSchema } from './published-schema.ts'

/** Returns the schema as the server receives it. */
const received = (schema: object): object => JSON.parse(JSON.stringify(schema))

describe('publishSchema', () => {
  test('keeps keywords of JSON Schema, and omits others', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'https://example.com/order',
      type: 'object',
      required: ['sku', 'sku', 1],
      properties: { sku: { type: 'string', pattern: '^[A-Z]+$', maxLength: 5, 'x-secret': 1 } },
      additionalProperties: false,
      not: { type: 'null' },
      if: {},
    }
    expect(publishSchema(schema)).toEqual({
      type: 'object',
      required: ['sku'],
      properties: { sku: { type: 'string', pattern: '^[A-Z]+$', maxLength: 5 } },
      additionalProperties: false,
    })
  })

  test.each([
    ['type', 'date'],
    ['type', ['date']],
    ['type', { $ref: '#' }],
    ['maxLength', -1],
    ['minimum', '1'],
    ['multipleOf', 0],
    ['pattern', '('],
    ['enum', []],
    ['anyOf', {}],
    ['properties', []],
    ['deprecated', 'yes'],
    ['description', ['x']],
  ])('omits %s with the value %j, which it cannot have', (keyword, value) => {
    expect(publishSchema({ [keyword]: value })).toEqual({})
  })

  test('publishes members of any name as such', () => {
    const names =
      '{"properties": {"__proto__": {"type": "string"}, "constructor": {"type": "null"}}, "__proto__": {"type": "null"}}'
    const schema = publishSchema(JSON.parse(names))
    expect(JSON.stringify(schema)).toBe(
      '{"properties":{"__proto__":{"type":"string"},"constructor":{"type":"null"}}}',
    )
    expect(Object.getPrototypeOf(schema?.properties)).toBe(Object.prototype)
  })

  test('omits a member called $ref, which tools would follow', () => {
    expect(publishSchema({ properties: { $ref: { type: 'string' }, a: {} } })).toEqual({
      properties: { a: {} },
    })
  })

  test('writes records and tuples with keywords of this version', () => {
    expect(publishSchema(received(Type.Record(Type.String(), Type.Number())))).toEqual({
      type: 'object',
      additionalProperties: { type: 'number' },
    })
    expect(publishSchema(received(Type.Tuple([Type.String(), Type.Null()])))).toEqual({
      type: 'array',
      prefixItems: [{ type: 'string' }, { type: 'null' }],
      items: false,
      minItems: 2,
    })
  })

  test('writes a closed record as such', () => {
    const patternProperties = { '^.*$': { type: 'number' } }
    expect(publishSchema({ type: 'object', patternProperties, additionalProperties: false })).toEqual({
      type: 'object',
      additionalProperties: { type: 'number' },
    })
  })

  test('opens branches of which one has to fit, because they may lack keywords', () => {
    const oneOf = [{ type: 'string', not: { const: 'a' } }, { const: 'a' }]
    const anyOf = [{ type: 'string' }, { const: 'a' }]
    expect(publishSchema({ oneOf })).toEqual({ anyOf })
    expect(publishSchema({ oneOf, anyOf: [{}], allOf: [{ maxLength: 1 }] })).toEqual({
      anyOf: [{}],
      allOf: [{ maxLength: 1 }, { anyOf }],
    })
  })

  test('moves the definitions in use to the root, under names of letters and digits', () => {
    const node = Type.Cyclic(
      { 'tree node': Type.Object({ kids: Type.Array(Type.Ref('tree node')) }) },
      'tree node',
    )
    const $defs = {
      TreeNode: {
        type: 'object',
        required: ['kids'],
        properties: { kids: { type: 'array', items: { $ref: '#/$defs/TreeNode' } } },
      },
    }
    expect(publishSchema(received(node))).toEqual({ $ref: '#/$defs/TreeNode', $defs })
    expect(publishSchema(received(Type.Array(node)))).toEqual({
      type: 'array',
      items: { $ref: '#/$defs/TreeNode' },
      $defs,
    })
  })

  test('resolves pointers into the schema, also to the whole of it', () => {
    const schema = {
      type: 'object',
      properties: {
        next: { $ref: '#' },
        one: { $ref: '#/$defs/a~1b' },
        two: { $ref: '#/definitions/A%20b' },
      },
      $defs: { 'a/b': { type: 'string' }, unused: { type: 'null' } },
      definitions: { 'A b': { type: 'number' } },
    }
    const result = publishSchema(schema)
    expect(result?.properties).toEqual({
      next: { $ref: '#/$defs/Item' },
      one: { $ref: '#/$defs/AB' },
      two: { $ref: '#/$defs/AB2' },
    })
    expect(Object.keys(result?.$defs as object)).toEqual(['Item', 'AB', 'AB2'])
  })

  test.each([
    'https://example.com/schema.json',
    'file:///etc/passwd',
    '#/components/schemas/Webhook',
    '#/properties/a',
    '#/$defs/missing',
    '#/$defs/__proto__',
    '__proto__',
    'constructor',
  ])('replaces the reference %s by a schema that accepts everything', ($ref) => {
    expect(publishSchema({ properties: { a: { $ref, description: 'Kept.' } }, $defs: {} })).toEqual({
      properties: { a: { description: 'Kept.' } },
    })
  })

  test('rejects schemas that are too deep, too large or too long', () => {
    const nested = (depth: number): object => (depth === 0 ? {} : { items: nested(depth - 1) })
    expect(publishSchema(nested(30))).toBeDefined()
    expect(publishSchema(nested(5000))).toBeUndefined()
    const wide = (count: number) => ({
      properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, {}])),
    })
    expect(publishSchema(wide(1500))).toBeDefined()
    expect(publishSchema(wide(3000))).toBeUndefined()
    expect(publishSchema({ description: 'x'.repeat(70_000) })).toBeUndefined()
    expect(publishSchema({ default: nested(5000) })).toBeUndefined()
  })
})
