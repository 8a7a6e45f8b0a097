import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyUnits } from '../../../../../test/any-text.ts'
import { AppError } from '../../../../lib/errors.ts'
import { type Cursor, formatCursor, parseCursor } from './cursor.ts'

const anyCursor: fc.Arbitrary<Cursor> = fc.array(
  fc.record({
    key: fc.string({ maxLength: 20, unit: 'grapheme' }),
    value: fc.option(fc.string({ maxLength: 40, unit: 'grapheme' })),
  }),
  { maxLength: 6 },
)

function token(content: unknown): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url')
}

function refusalOf(text: string): string {
  try {
    parseCursor(text)
  } catch (error) {
    if (error instanceof AppError && error.kind === 'invalid_cursor' && error.status === 400) {
      return error.message
    }
    throw error
  }
  throw new Error('accepted')
}

describe('parseCursor', () => {
  test('reads back what formatCursor wrote', () => {
    fc.assert(
      fc.property(anyCursor, (cursor) => {
        const text = formatCursor(cursor)
        expect(text).toMatch(/^[\w-]*$/)
        expect(parseCursor(text)).toEqual(cursor)
      }),
      { numRuns: 1000 },
    )
  })

  test('keeps the values under v', () => {
    const text = formatCursor([
      { key: '-pages', value: '12' },
      { key: 'book_id', value: null },
    ])
    expect(JSON.parse(Buffer.from(text, 'base64url').toString())).toEqual({
      v: ['12', null],
      k: ['-pages', 'book_id'],
    })
  })

  test('reads an empty token as the first page', () => {
    expect(parseCursor('')).toBeUndefined()
  })

  test('allows a token of the maximum length', () => {
    const longest = formatCursor([{ key: 'a', value: 'x'.repeat(3052) }])
    expect(longest.length).toBe(4096)
    expect(parseCursor(longest)).toEqual([{ key: 'a', value: 'x'.repeat(3052) }])
    expect(() => formatCursor([{ key: 'a', value: 'x'.repeat(3053) }])).toThrow(
      'sort: the values of the last record are too long for a cursor',
    )
  })
})

describe('parseCursor with another text', () => {
  test('rejects any text', () => {
    const texts = fc.oneof(
      fc.string({ minLength: 1 }),
      anyUnits({ minLength: 1 }),
      fc.base64String({ minLength: 1 }),
      fc.json().map((json) => Buffer.from(json).toString('base64url')),
    )
    fc.assert(
      fc.property(texts, (text) => {
        expect(refusalOf(text)).toBe('invalid cursor')
      }),
      { numRuns: 1000 },
    )
  })

  test.each([
    ['no JSON', Buffer.from('{"v":[').toString('base64url'), 'invalid cursor'],
    ['null', token(null), 'invalid cursor'],
    ['a list', token(['1']), 'invalid cursor'],
    ['values without keys', token({ v: ['1'] }), 'invalid cursor'],
    ['keys without values', token({ k: ['a'] }), 'invalid cursor'],
    ['more values than keys', token({ v: ['1', '2'], k: ['a'] }), 'invalid cursor'],
    ['fewer values than keys', token({ v: [], k: ['a'] }), 'invalid cursor'],
    ['a number as a value', token({ v: [1], k: ['a'] }), 'invalid cursor'],
    ['an object as a value', token({ v: [{}], k: ['a'] }), 'invalid cursor'],
    ['a number as a key', token({ v: ['1'], k: [1] }), 'invalid cursor'],
    ['values that are no list', token({ v: 'a', k: 'a' }), 'invalid cursor'],
    ['padded', `${formatCursor([{ key: 'a', value: 'x' }])}=`, 'invalid cursor'],
    ['with a blank behind', `${formatCursor([{ key: 'a', value: 'x' }])} `, 'invalid cursor'],
    ['sent twice over', formatCursor([{ key: 'a', value: 'x' }]).repeat(2), 'invalid cursor'],
    ['no UTF-8', Buffer.from('{"v":["\xff"],"k":["a"]}', 'latin1').toString('base64url'), 'invalid cursor'],
  ])('rejects a token that is %s', (_what, text, message) => {
    expect(refusalOf(text)).toBe(message)
  })

  test('rejects a token that is too long', () => {
    expect(() => parseCursor('A'.repeat(4097))).toThrow('cursor too long')
  })
})
