import { describe, expect, test } from 'vitest'
import { SchemaChecks } from './input.ts'
import type { RouteDescription } from './messages.ts'

const route: RouteDescription = {
  ...{
    kind: 'route',
    name: 'search',
    file: 'search.ts',
    method: 'GET',
    path: '/search',
    access: 'anonymous',
  },
  ...{ hasInput: true, hasOutput: false },
}

/** Reads a query by the schema that a library has for documents. */
function readQuery(documentedInput: object, query: unknown): unknown {
  return new SchemaChecks().readInput({ ...route, documentedInput: { ...documentedInput } }, query)
}

const number = { type: 'number' }
const text = { type: 'string' }

describe('readInput of a query', () => {
  test.each([
    [number, '3', 3],
    [number, '-1.5e+21', -1.5e21],
    [number, '1e999', '1e999'],
    [number, '0x10', '0x10'],
    [{ type: ['integer', 'null'] }, '3', 3],
    [{ anyOf: [number, { type: 'null' }] }, '3', 3],
    [{ oneOf: [number, { anyOf: [{ type: 'boolean' }] }] }, 'true', true],
    [{ anyOf: [number, text] }, '3', '3'],
    [{ anyOf: [number, {}] }, '3', '3'],
    [{ anyOf: [number, { const: 'all' }] }, '3', 3],
    [{ anyOf: [number, { const: '3' }] }, '3', '3'],
    [{ const: 3 }, '3', 3],
    [{ enum: [1, 2] }, '2', 2],
    [{ type: 'string', enum: ['1', '2'] }, '2', '2'],
    [{ type: 'array', items: number }, '3', [3]],
    [
      { anyOf: [{ type: 'array', items: { anyOf: [number, { type: 'null' }] } }, { type: 'null' }] },
      '3',
      [3],
    ],
    [{ anyOf: [{ type: 'array', items: number }, text] }, '3', '3'],
    [{ anyOf: [{ type: 'array', items: number }, number] }, ['3', '4'], [3, 4]],
    [text, ['3'], ['3']],
  ])('reads by %j the parameter %j as %j', (schema, value, expected) => {
    expect(readQuery({ type: 'object', properties: { a: schema } }, { a: value })).toEqual({ a: expected })
  })

  test('finds members in the parts of a schema', () => {
    const parts = [{ properties: { a: number } }, { anyOf: [{ properties: { b: number, c: text } }] }]
    expect(readQuery({ allOf: parts }, { a: '1', b: '2', c: '3', d: '4' })).toEqual({
      ...{ a: 1, b: 2, c: '3', d: '4' },
    })
    expect(readQuery({ additionalProperties: number }, { a: '1' })).toEqual({ a: 1 })
  })

  test('has no parameters without an input, and leaves values of other types to the validation', () => {
    expect(readQuery({ properties: { a: number } }, undefined)).toEqual({})
    expect(readQuery({ properties: { a: number } }, null)).toBeNull()
    const checks = new SchemaChecks()
    const description = { ...route, input: { type: 'object', properties: { a: number } } }
    expect(checks.readInput(description, undefined)).toEqual({})
    expect(() => checks.readInput(description, 'a')).toThrow()
  })
})
