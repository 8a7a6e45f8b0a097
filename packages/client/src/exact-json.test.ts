import { expect, test } from 'vitest'
import { parseExact, stringify } from './exact-json.ts'

test.each([
  ['9007199254740993', '9007199254740993'],
  ['9007199254740992', 9007199254740992],
  ['-9223372036854775808', '-9223372036854775808'],
  ['9223372036854775807', '9223372036854775807'],
  ['0.1234567890123456789', '0.1234567890123456789'],
  ['0.30000000000000004', 0.30000000000000004],
  ['1.2345678901234566e-07', 1.2345678901234566e-7],
  ['123456789012345680000', 123456789012345680000],
  ['1.0000000000000000000', 1],
  ['1e400', '1e400'],
  ['-0.00', -0],
])('parseExact › parses the number %s without losing a digit', (source, value) => {
  expect(parseExact(source)).toBe(value)
  expect(parseExact(`{"a":[${source},${source}]}`)).toEqual({ a: [value, value] })
})

test('parseExact › leaves strings that look like numbers unchanged', () => {
  const value = { a: '12345678901234567890', b: '\\"12345678901234567890,', '9007199254740993': ['x"1'] }
  expect(parseExact(JSON.stringify(value))).toEqual(value)
})

test('parseExact › leaves strings of some megabytes with escapes unchanged', () => {
  const value = { a: 'x'.repeat(2 ** 23), b: '\n"\\'.repeat(2 ** 19), c: 1 }
  const parsed = parseExact(JSON.stringify(value).replace(/1}$/, '12345678901234567890}'))
  const { a, b, c } = parsed as typeof value
  expect([a === value.a, b === value.b, c]).toEqual([true, true, '12345678901234567890'])
})

test('parseExact › parses a number with many zeros as fast as any other', () => {
  // The number has as many fraction digits as a PostgreSQL numeric, in four columns of a page of the maximum size.
  const number = `0.1${'0'.repeat(16_381)}1`
  expect(parseExact(`[${Array(2000).fill(number).join()}]`)).toEqual(Array(2000).fill(number))
})

test('parseExact › rejects invalid JSON', () => {
  for (const text of ['{', '12345678901234567890x', '[1234567890123456-1]', '01234567890123456789']) {
    expect(() => parseExact(text), text).toThrow(SyntaxError)
  }
})

test('stringify › writes a bigint with all its digits', () => {
  expect(stringify({ a: 9007199254740993n, b: [1n], c: undefined })).toBe(
    '{"a":"9007199254740993","b":["1"]}',
  )
})

test('stringify › writes NaN and infinities as strings, not as null', () => {
  expect(stringify([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])).toBe(
    '["NaN","Infinity","-Infinity"]',
  )
})

test('stringify › rejects an invalid date, which would be written as null', () => {
  const due = new Date('no date')
  expect(() => stringify({ items: [{ due }] })).toThrow(new RangeError('due is an invalid date'))
  expect(stringify({ due: null, at: new Date(0) })).toBe('{"due":null,"at":"1970-01-01T00:00:00.000Z"}')
})
