import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { beginningOf, endOf, formatPosition, type Position, parsePosition } from './position.ts'

/** Snapshots as PostgreSQL writes them. */
const snapshot = fc
  .uniqueArray(fc.bigInt({ min: 3n, max: 9_000_000_000n }), { minLength: 1, maxLength: 8 })
  .map((numbers) => {
    const [end = 0n, ...running] = numbers.toSorted((one, other) => (one < other ? 1 : -1))
    const sorted = running.toReversed()
    return `${sorted[0] ?? end}:${end}:${sorted.join()}`
  })
const position: fc.Arbitrary<Position> = fc.record(
  {
    timeline: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    passed: snapshot,
    within: fc.record({ target: snapshot, id: fc.nat().map(String) }),
  },
  { requiredKeys: ['passed'] },
)

describe('realtime › position', () => {
  test('round-trips', () => {
    fc.assert(
      fc.property(position, (written) => {
        expect(parsePosition(formatPosition(written))).toEqual(written)
      }),
    )
  })

  test.each([
    '',
    'x',
    '5',
    '5:5',
    '5:4:',
    '0:0:',
    '5:9:9',
    '5:9:7,6',
    '5:9:4',
    '5:9:6;',
    "5:9:'",
    '5:9:~',
    '5:9:~5:9:',
    '5:9:~5:9:~',
    '5:9:~5:9:~x',
    '5:9:~5:9:~1~2',
    '-5:9:',
    '5:9:\n',
    '/5:9:',
    '0/5:9:',
    'x/5:9:',
    '-1/5:9:',
    '1/2/5:9:',
    '1/5:9:~1/5:9:~1',
    `5:99999999999999999999:`,
    `5:9:${'6,'.repeat(5000)}6`,
  ])('rejects a text that PostgreSQL would not read: %s', (text) => {
    expect(parsePosition(text)).toBeUndefined()
  })

  test('accepts or rejects any text without failing', () => {
    const characters = fc.string({ unit: fc.constantFrom(...'0123456789:,~/') })
    fc.assert(fc.property(fc.oneof(fc.string(), characters), (text) => void parsePosition(text)))
  })
})

test('realtime › position › returns the beginning and the end of a snapshot', () => {
  const text = '5:9:5,7'
  expect([beginningOf(text), endOf(text)]).toEqual([5n, 9n])
})
