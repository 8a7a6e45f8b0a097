import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { endOfRecords, formatLogPosition, laterOf, parseLogPosition } from './log-position.ts'

describe('parseLogPosition', () => {
  test.each([
    ['0/0', 0n],
    ['0/3000148', 0x3000148n],
    ['16/B374D848', 0x16b374d848n],
    ['ffffffff/ffffffff', 0xffff_ffff_ffff_ffffn],
  ])('parses %s', (text, expected) => {
    expect(parseLogPosition(text)).toBe(expected)
  })

  test.each(['', '0', '/', '0/', '/0', '1/2/3', '0x1/0', '123456789/0', '0/0 ', '-1/0', '0/G'])(
    'returns undefined for %j',
    (text) => {
      expect(parseLogPosition(text)).toBeUndefined()
    },
  )

  test('parses what formatLogPosition returns', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn }), (position) => {
        expect(parseLogPosition(formatLogPosition(position))).toBe(position)
      }),
    )
  })
})

describe('endOfRecords', () => {
  test.each([
    ['0/3002000', '0/3002000'],
    ['0/3002018', '0/3002000'],
    ['0/3000028', '0/3000000'],
    ['0/3002020', '0/3002020'],
  ])('returns the end of the page for a position after a page header: %s', (inserted, expected) => {
    expect(formatLogPosition(endOfRecords(parseLogPosition(inserted) ?? -1n))).toBe(expected)
  })
})

test('laterOf returns the position that is further in the log', () => {
  expect([laterOf(1n, 2n), laterOf(2n, 1n)]).toEqual([2n, 2n])
})
