import { describe, expect, test } from 'vitest'
import { formatArray, formatRange, parseArray, parseRange } from './literals.ts'

describe('ranges', () => {
  test.each([
    '[1,5)',
    '(,5]',
    '[,)',
    'empty',
    '["2026-01-01 00:00:00+00","2026-02-01 00:00:00+00")',
    '[123456789012345678.90,)',
    '["a,\\"b\\\\",c)',
  ])('keeps %s unchanged', (text) => {
    const parsed = parseRange(text)
    expect(parsed === undefined ? undefined : formatRange(parsed)).toBe(text)
  })

  test('reads the bounds without their quotes', () => {
    expect(parseRange('("a ""b"" \\\\",5]')).toEqual({
      ...{ isEmpty: false, lower: 'a "b" \\', upper: '5', includesLower: false, includesUpper: true },
    })
  })

  test.each(['[1,2', '1,2', '[1,2,3)', '{[1,2)}', '["1,2)'])('rejects %s', (text) => {
    expect(parseRange(text)).toBeUndefined()
  })
})

describe('arrays', () => {
  test.each(['{}', '{1,2}', '{NULL,"NULL",""}', '{"a b","c,d","e\\"f","g\\\\h"}', '{99999999999999999.10}'])(
    'keeps %s unchanged',
    (text) => {
      const parsed = parseArray(text)
      expect(parsed === undefined ? undefined : formatArray(parsed)).toBe(text)
    },
  )

  test('reads the elements', () => {
    expect(parseArray('{ a , "b ",null,"null",c\\,d}')).toEqual(['a', 'b ', null, 'null', 'c,d'])
  })

  test.each(['{{1},{2}}', '[2:3]={1,2}', '{1,', '{1,}', '{a"b}', 'x', '{"a}'])('rejects %s', (text) => {
    expect(parseArray(text)).toBeUndefined()
  })
})
