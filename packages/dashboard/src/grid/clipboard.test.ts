import { describe, expect, test } from 'vitest'
import { formatCsv, formatInsert, formatJson, formatTabs, parseTabs, toJson } from './clipboard.ts'

const columns = [
  { title: 'id', type: 'bigint' },
  { title: 'a "b"', type: 'text' },
]
const cells = [
  ['9007199254740993', 'x\ty'],
  ['2', null],
  ['3', `it's "q"\nand \\ more`],
]

describe('dashboard › grid › clipboard', () => {
  test('reads back the cells that it writes', () => {
    const shown = cells.map((row) => row.map((cell) => cell ?? ''))
    expect(parseTabs(formatTabs(cells))).toEqual(shown)
    expect(parseTabs(`${formatTabs(cells)}\r\n`)).toEqual(shown)
  })

  test.each([
    ['a', [['a']]],
    ['', [['']]],
    [
      'a\tb\nc\td\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'a\t\n\tb',
      [
        ['a', ''],
        ['', 'b'],
      ],
    ],
    ['5" nail\t"x"y', [['5" nail', '"x"y']]],
    ['"open', [['"open']]],
  ])('parses %j', (text, expected) => {
    expect(parseTabs(text)).toEqual(expected)
  })

  test('writes CSV by RFC 4180', () => {
    expect(formatCsv(columns, cells)).toBe(
      'id,"a ""b"""\r\n9007199254740993,x\ty\r\n2,\r\n3,"it\'s ""q""\nand \\ more"\r\n',
    )
  })

  test('writes JSON with every digit', () => {
    expect(formatJson(columns, cells.slice(0, 2))).toBe(
      '[\n  {"id": 9007199254740993, "a \\"b\\"": "x\\ty"},\n  {"id": 2, "a \\"b\\"": null}\n]',
    )
    expect([
      toJson('NaN', 'numeric'),
      toJson('t', 'boolean'),
      toJson('{"n":1.10}', 'jsonb'),
      toJson('{', 'json'),
    ]).toEqual(['"NaN"', 'true', '{"n":1.10}', '"{"'])
  })

  test('writes SQL whose constants cannot be escaped', () => {
    expect(
      formatInsert('"t"', columns, [
        ['1', `'); drop table x; --`],
        ['2', '\\'],
      ]),
    ).toBe(`insert into "t" ("id", "a ""b""") values\n  ('1', '''); drop table x; --'),\n  ('2', E'\\\\');`)
  })
})
