import { describe, expect, it } from 'vitest'
import { exampleOf } from './example-input.ts'

describe('example of a schema', () => {
  it('has the members of an object, with values of their types', () => {
    const schema = {
      type: 'object',
      properties: {
        quantity: { type: 'integer', minimum: 1 },
        size: { enum: ['small', 'large'] },
        note: { type: ['string', 'null'] },
        gift: { type: 'boolean', default: true },
        to: { anyOf: [{ type: 'object', properties: { street: { type: 'string' } } }, { type: 'null' }] },
        tags: { type: 'array', items: { type: 'string' } },
        any: {},
      },
    }
    expect(exampleOf(schema)).toEqual({
      ...{ quantity: 1, size: 'small', note: '', gift: true, to: { street: '' }, tags: [], any: null },
    })
  })

  it('ends for a schema that contains itself, and for no schema', () => {
    const schema: Record<string, unknown> = { type: 'object' }
    schema.properties = { child: schema }
    expect(JSON.stringify(exampleOf(schema))).toContain('null')
    expect(exampleOf(undefined)).toBeNull()
  })
})
