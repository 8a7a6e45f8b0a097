import { expect, test } from 'vitest'
import { parseDay, parseInstant } from './instant.ts'

test.each([
  ['2026-02-28T23:59:59Z', '2026-02-28T23:59:59.000Z'],
  ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
  ['2028-02-29t00:00:00.123456+02:00', '2028-02-28T22:00:00.123Z'],
])('instant › parses the timestamp %s', (text, expected) => {
  expect(parseInstant(text)?.toISOString()).toBe(expected)
})

test.each([
  '2026-02-29T00:00:00Z',
  '2026-02-31T00:00:00+01:00',
  '2026-01-01T24:00:00Z',
  '2026-01-01T00:60:00Z',
  '2026-13-01T00:00:00Z',
  '2026-01-01T00:00:00',
  '2026-01-01 00:00:00Z',
  '2026-01-01',
  '0000-12-31T00:00:00Z',
  '0001-01-01T00:00:00+01:00',
  '9999-12-31T23:59:59-01:00',
  '1',
  '',
])('instant › rejects %j as a timestamp', (text) => {
  expect(parseInstant(text)).toBeUndefined()
})

test('instant › parses a day only if it exists', () => {
  expect(parseDay('2028-02-29')?.toISOString()).toBe('2028-02-29T00:00:00.000Z')
  for (const text of ['2026-02-29', '2026-00-01', '2026-1-1', '2026-01-01T00:00:00Z'])
    expect(parseDay(text)).toBeUndefined()
})
