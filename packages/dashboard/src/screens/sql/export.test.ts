import { expect, test } from 'vitest'
import { exportCsv, exportJson } from './export.ts'

const result = {
  columns: [
    { name: 'id', type: 'bigint' },
    { name: 'a "b"', type: 'text' },
    { name: 'id', type: 'jsonb' },
    { name: 'on', type: 'boolean' },
  ],
  rows: [
    ['9007199254740993', '=1+1', '{"x":1.10}', 't'],
    ['-1', 'line\nbreak, "quoted"', '{"cut', null],
    [null, '', 'NaN', 'f'],
  ],
}

test('dashboard › SQL › export › CSV › quotes values that need it, and distinguishes an empty text from NULL', () => {
  expect(exportCsv(result, false)).toBe(
    'id,"a ""b""",id,on\r\n9007199254740993,=1+1,"{""x"":1.10}",t\r\n-1,"line\nbreak, ""quoted""","{""cut",\r\n,"",NaN,f\r\n',
  )
})

test('dashboard › SQL › export › CSV for spreadsheets › escapes formulas and keeps numbers', () => {
  const csv = exportCsv(result, true)
  expect(csv).toContain("9007199254740993,'=1+1,")
  expect(csv).toContain('\r\n-1,')
  const starts = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']
  const formulas = exportCsv(
    { columns: [{ name: '＝x', type: 'text' }], rows: starts.map((sign) => [`${sign}a`]) },
    true,
  )
  expect(formulas).toBe(
    `'＝x\r\n${starts.map((sign) => (/\r|\n/.test(sign) ? `"'${sign}a"` : `'${sign}a`)).join('\r\n')}\r\n`,
  )
})

test('dashboard › SQL › export › JSON › keeps all digits, and columns with equal names', () => {
  expect(exportJson(result)).toBe(`[
  {"id": 9007199254740993, "a \\"b\\"": "=1+1", "id 2": {"x":1.10}, "on": true},
  {"id": -1, "a \\"b\\"": "line\\nbreak, \\"quoted\\"", "id 2": "{\\"cut", "on": null},
  {"id": null, "a \\"b\\"": "", "id 2": "NaN", "on": false}
]
`)
})
