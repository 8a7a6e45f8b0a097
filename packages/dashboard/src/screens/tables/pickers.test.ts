import { expect, test } from 'vitest'
import { pickedText, pickerValue } from './pickers.ts'

test.each([
  ['date', '2026-01-31', '2026-01-31'],
  ['date', 'infinity', ''],
  ['time', '13:05:09.123456', '13:05:09'],
  ['datetime-local', '2026-01-31 13:05:09.123456+02', '2026-01-31T13:05:09'],
  ['datetime-local', '44-03-15 BC', ''],
  ['color', '#AA3300', '#aa3300'],
  ['color', 'red', '#000000'],
] as const)('pickerValue of %s › shows %s as %s', (picker, text, value) => {
  expect(pickerValue(picker, text)).toBe(value)
})

test.each([
  ['date', 'date', '2026-02-01', '2026-01-31', '2026-02-01'],
  ['time', 'time with time zone', '14:00', '13:05:09+02', '14:00+02'],
  [
    'datetime-local',
    'timestamp with time zone',
    '2026-02-01T14:00',
    '2026-01-31 13:05:09.12+05:30',
    '2026-02-01 14:00+05:30',
  ],
  ['datetime-local', 'timestamp with time zone', '2026-02-01T14:00', '', '2026-02-01 14:00+00'],
  ['datetime-local', 'timestamp without time zone', '2026-02-01T14:00', '', '2026-02-01 14:00'],
] as const)('pickedText of %s (%s) › writes %s after %s as %s', (picker, type, picked, before, text) => {
  expect(pickedText(picker, type, picked, before)).toBe(text)
})
