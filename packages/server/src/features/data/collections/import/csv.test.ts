import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CsvReader, type CsvRecord } from './csv.ts'

function readAll(chunks: readonly string[], sizeLimit = 1_000_000): CsvRecord[] {
  const reader = new CsvReader(sizeLimit)
  return [...chunks.flatMap((chunk) => reader.read(chunk)), ...reader.end()]
}

function fieldsOf(...chunks: string[]): unknown[] {
  return readAll(chunks).map(({ fields, fault }) => fault ?? fields)
}

const field = fc.oneof(
  fc.constant(null),
  fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', 'é', '😀') }),
)
const table = fc.array(fc.array(field, { minLength: 2, maxLength: 4 }), { maxLength: 6 })

function print(records: readonly (readonly (string | null)[])[], lineEnd: string): string {
  return records
    .map((fields) => fields.map((text) => (text === null ? '' : `"${text.replaceAll('"', '""')}"`)).join(','))
    .map((line) => line + lineEnd)
    .join('')
}

describe('CsvReader', () => {
  test('reads a CSV as it was printed, wherever it is split into chunks', () => {
    fc.assert(
      fc.property(
        table,
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.array(fc.nat(60), { maxLength: 6 }),
        (records, lineEnd, cuts) => {
          const text = print(records, lineEnd)
          const offsets = [
            0,
            ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b),
            text.length,
          ]
          const chunks = offsets.slice(1).map((end, index) => text.slice(offsets[index], end))
          expect(fieldsOf(...chunks)).toEqual(records)
        },
      ),
      { numRuns: 1000 },
    )
  })

  test.each([
    [
      'a,b\n1,2\n',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    [
      'a,b\r\n1,2',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    ['a\n\n\r\n"",\n', [['a'], ['', null]]],
    ['a\n""\n', [['a'], ['']]],
    [',\n', [[null, null]]],
    ['a b , c\n', [['a b ', ' c']]],
    ['"a""b","c\nd","e,f"\n', [['a"b', 'c\nd', 'e,f']]],
    ['""""', [['"']]],
    ['', []],
    ['a"b,c\nd,e\n', ['a quote in a field that does not begin with one', ['d', 'e']]],
    ['"a"b,c\nd,e\n', ['text behind a closing quote', ['d', 'e']]],
    ['a,b\n"c,d\ne', [['a', 'b'], 'a quoted field that is not closed']],
  ])('reads %j as %j', (text, expected) => {
    expect(fieldsOf(text)).toEqual(expected)
    expect(fieldsOf(...text)).toEqual(expected)
  })

  test('skips a record that is too long, and continues after it', () => {
    for (const long of ['x'.repeat(30), `"${'x,\n'.repeat(10)}"`, ','.repeat(30)]) {
      expect(readAll([`${long}\nb\n`], 20)).toEqual([
        { fields: expect.anything(), fault: 'more than 20 characters' },
        { fields: ['b'], fault: undefined },
      ])
    }
  })
})
