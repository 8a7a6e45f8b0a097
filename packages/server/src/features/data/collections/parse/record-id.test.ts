import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyUnits } from '../../../../../test/any-text.ts'
import { AppError } from '../../../../lib/errors.ts'
import { relationOf } from '../tests/catalog-of.ts'
import { parseBodyId, parsePathId } from './record-id.ts'

const columns = { id: 'text', note: 'text', room: 'text' }
const single = relationOf({ columns, primaryKey: ['id'] })
const double = relationOf({ columns, primaryKey: ['room', 'id'] })
const none = relationOf({ columns, primaryKey: [] })

const value = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', ',', '%2C', '%', '/', 'a,b', '😀', '+'),
)

describe('record id in a path', () => {
  test('decodes the id of one column once', () => {
    fc.assert(
      fc.property(value, (id) => {
        expect(parsePathId(single, encodeURIComponent(id))).toEqual([id])
      }),
    )
  })

  test('splits a composite id first, then decodes each value once', () => {
    fc.assert(
      fc.property(value, value, (room, id) => {
        expect(parsePathId(double, `${encodeURIComponent(room)},${encodeURIComponent(id)}`)).toEqual([
          room,
          id,
        ])
      }),
    )
  })

  test('accepts a composite id that was encoded as a whole', () => {
    expect(parsePathId(double, 'north%2C1')).toEqual(['north', '1'])
  })

  test.each([
    ['one value too few', double, 'north', 'invalid primary key: expected 2 values'],
    ['one value too many', double, 'a,b,c', 'invalid primary key: expected 2 values'],
    [
      'one value too many in an id encoded as a whole',
      double,
      'a%2Cb%2Cc',
      'invalid primary key: expected 2 values',
    ],
    ['a broken encoding', single, '%E0%A4%A', 'invalid primary key: expected 1 value'],
    ['half an encoding in one value', double, 'a,%', 'invalid primary key: expected 2 values'],
    ['no primary key', none, '1', 'table has no primary key'],
  ])('rejects %s', (_what, relation, segment, message) => {
    expect(() => parsePathId(relation, segment)).toThrow(message)
  })

  test('parses or rejects any text', () => {
    fc.assert(
      fc.property(anyUnits(), fc.constantFrom(single, double), (segment, relation) => {
        try {
          expect(parsePathId(relation, segment)).toHaveLength(relation.primaryKey.length)
        } catch (error) {
          if (!(error instanceof AppError)) throw error
          expect([error.status, error.kind]).toEqual([400, 'invalid_primary_key'])
        }
      }),
    )
  })
})

describe('record id in a body', () => {
  test('is used unchanged', () => {
    expect(parseBodyId(single, 'a%2Cb')).toEqual(['a%2Cb'])
    expect(parseBodyId(single, 'a,b')).toEqual(['a,b'])
    expect(parseBodyId(double, 'north,1')).toEqual(['north', '1'])
  })

  test.each([
    ['too few values', double, 'north', 'invalid primary key: expected 2 values'],
    ['too many values', double, 'a,b,1', 'invalid primary key: expected 2 values'],
    ['no primary key', none, '1', 'table has no primary key'],
  ])('rejects %s', (_what, relation, id, message) => {
    expect(() => parseBodyId(relation, id)).toThrow(message)
  })
})
