import { describe, expect, test } from 'vitest'
import { Type } from '../../lib/type.ts'
import { component } from '../schemas.ts'
import { collectComponents } from './components.ts'

const Track = component('Track', Type.Object({ name: Type.String() }))
const reference = { $ref: '#/components/schemas/Track' }

describe('API document › components', () => {
  test('contain a named schema once, and every use refers to it', () => {
    const Album = component('Album', Type.Object({ tracks: Type.Array(Track), best: Type.Optional(Track) }))
    const document = collectComponents({ paths: { one: Album, two: { schema: Track } } })
    expect(document).toEqual({
      paths: { one: { $ref: '#/components/schemas/Album' }, two: { schema: reference } },
      components: {
        schemas: {
          Album: {
            type: 'object',
            required: ['tracks'],
            properties: { tracks: { type: 'array', items: reference }, best: reference },
          },
          Track: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
        },
        responses: expect.anything(),
      },
    })
  })

  test('give a choice of texts its type', () => {
    const document = collectComponents({ paths: { one: Type.Enum(['a', 'b']), two: Type.Enum(['a', 1]) } })
    expect(document.paths).toEqual({ one: { type: 'string', enum: ['a', 'b'] }, two: { enum: ['a', 1] } })
  })

  test('give a scalar or null two types, and keep the null of other schemas apart', () => {
    const text = Type.Union([Type.String({ format: 'uuid' }), Type.Null()], { description: 'Id.' })
    const track = Type.Union([Track, Type.Null()])
    const document = collectComponents({ paths: { text, track } })
    expect(document.paths).toEqual({
      text: { type: ['string', 'null'], format: 'uuid', description: 'Id.' },
      track: { anyOf: [reference, { type: 'null' }] },
    })
  })

  test('define the members that a rule requires', () => {
    const document = collectComponents({ paths: { one: { not: { required: ['a'] } } } })
    expect(document.paths).toEqual({ one: { not: { required: ['a'], properties: { a: {} } } } })
  })

  test('reject two different schemas of one name', () => {
    const other = component('Track', Type.Object({ title: Type.String() }))
    expect(() => collectComponents({ paths: { one: Track, two: other } })).toThrow(
      'two schemas are named Track',
    )
  })
})
