import { expect, test } from 'vitest'
import { csvField, guessColumn, headerLength, readCsv } from './csv.ts'

test('dashboard › tables › CSV › reads fields with quotes, commas and line breaks', () => {
  const text = 'id,"a ""b""",c\r\n1,"x,\ny",\n\n2,,z'
  expect(readCsv(text, 10)).toEqual([
    ['id', 'a "b"', 'c'],
    ['1', 'x,\ny', ''],
    ['2', '', 'z'],
  ])
  expect(readCsv(text, 1)).toHaveLength(1)
  expect(readCsv('', 5)).toEqual([])
})

test('dashboard › tables › CSV › finds the header, and rewrites it', () => {
  expect([headerLength('a,"b\nc"\r\n1'), headerLength('a'), csvField('a "b"'), csvField('a')]).toEqual([
    7,
    1,
    '"a ""b"""',
    'a',
  ])
})

test('dashboard › tables › CSV › maps a header to the column with the same name or the same letters', () => {
  const columns = ['id', 'first_name', 'Größe']
  expect(['id', 'First Name', 'größe', 'other'].map((header) => guessColumn(header, columns))).toEqual([
    'id',
    'first_name',
    'Größe',
    '',
  ])
})
