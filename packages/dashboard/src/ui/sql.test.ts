import { expect, test } from 'vitest'
import { readTableName, writeTableName } from './sql.ts'

test.each([
  ['todo', 'public', 'todo'],
  [' shop.todo ', 'shop', 'todo'],
  ['"a.b"', 'public', 'a.b'],
  ['"my.shop"."to ""do"""', 'my.shop', 'to "do"'],
  ['shop."a.b(c)"', 'shop', 'a.b(c)'],
  ['', 'public', ''],
])('dashboard › readTableName › parses %j with its schema', (text, schema, name) => {
  expect(readTableName(text)).toEqual({ schema, name })
  expect(readTableName(writeTableName(schema, name))).toEqual({ schema, name })
})
