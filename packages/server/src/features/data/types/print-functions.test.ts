import { describe, expect, test } from 'vitest'
import { printFunctions, printSchema } from './print-functions.ts'

describe('printSchema', () => {
  test.each([
    [{}, 'unknown'],
    [{ description: 'Anything.' }, 'unknown'],
    [{ type: 'integer' }, 'number'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ enum: ['a', "it's", 1, null] }, "'a' | 'it\\'s' | 1 | null"],
    [{ const: true }, 'true'],
    [{ const: {} }, 'unknown'],
    [{ type: 'array', items: { type: ['string', 'null'] } }, '(string | null)[]'],
    [{ type: 'array' }, 'unknown[]'],
    [
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false },
      '[string, number]',
    ],
    [{ type: 'array', prefixItems: [{ type: 'string' }] }, '[string, ...unknown[]]'],
    [
      { type: 'object', required: ['a'], properties: { a: { type: 'string' }, 'b-c': {} } },
      "{ a: string; 'b-c'?: unknown }",
    ],
    [{ properties: { a: { type: 'null' } } }, '{ a?: null }'],
    [{ type: 'object' }, '{ [name: string]: unknown }'],
    [{ type: 'object', additionalProperties: { type: 'boolean' } }, '{ [name: string]: boolean }'],
    [{ type: 'object', additionalProperties: false }, 'Record<string, never>'],
    [
      { type: 'object', patternProperties: { '^a': { type: 'number' } }, additionalProperties: false },
      '{ [name: string]: number }',
    ],
    [{ type: 'object', patternProperties: { '^a': { type: 'number' } } }, '{ [name: string]: unknown }'],
    [{ anyOf: [{ type: 'string' }, { type: 'string', format: 'date' }, { type: 'null' }] }, 'string | null'],
    [{ oneOf: [{ type: 'string' }, {}] }, 'unknown'],
    [
      { allOf: [{ properties: { a: {} } }, { anyOf: [{ type: 'string' }, { type: 'null' }] }] },
      '{ a?: unknown } & (string | null)',
    ],
    [{ $ref: '#/$defs/A', $defs: { A: { type: 'string' } } }, 'string'],
    [{ $ref: '#/$defs/__proto__', $defs: {} }, 'unknown'],
  ])('prints %j as %s', (schema, type) => {
    expect(printSchema(schema)).toBe(type)
  })

  test('prints a recursive part as unknown', () => {
    const Node = { type: 'object', properties: { kids: { type: 'array', items: { $ref: '#/$defs/Node' } } } }
    expect(printSchema({ $ref: '#/$defs/Node', $defs: { Node } })).toBe('{ kids?: unknown[] }')
  })

  test('prints definitions that double each other as unknown, within a moment', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => {
        const next = { $ref: `#/$defs/D${index + 1}` }
        return [`D${index}`, { type: 'object', properties: { a: next, b: next } }]
      }),
    )
    expect(printSchema({ $ref: '#/$defs/D0', $defs })).toBe('unknown')
  })
})

describe('printFunctions', () => {
  test('prints one line for each address, whatever its characters', () => {
    const route = { input: undefined, output: undefined }
    expect(
      printFunctions([
        { ...route, method: 'GET', path: "/it's/:id\u2028" },
        { method: 'POST', path: '/a', input: { type: 'string' }, output: { type: 'null' } },
      ]),
    ).toEqual([
      "    'GET /it\\'s/:id\\u2028': { Input: undefined; Output: unknown }",
      "    'POST /a': { Input: string; Output: null }",
    ])
  })
})
