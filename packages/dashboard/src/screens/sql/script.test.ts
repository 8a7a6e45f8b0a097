import { expect, test } from 'vitest'
import { lastParameter } from './script.ts'

test.each([
  ['select 1', 0],
  ['select $2, $1', 2],
  ['select \'$3\', "$4", a$5, $q$ $6 $q$ -- $7\n/* $8 */', 0],
  ["select 'it''s $9' || $1", 1],
])('dashboard › SQL › lastParameter › of %s is %s', (text, last) => {
  expect(lastParameter(text)).toBe(last)
})
