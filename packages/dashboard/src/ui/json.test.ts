import { expect, test } from 'vitest'
import { indentJson, parseObject } from './json.ts'

test.each([
  ['{"name":"tea","price":1.5}', '{\n  "name": "tea",\n  "price": 1.5\n}'],
  ['{"id":9007199254740993}', '{"id":9007199254740993}'],
  ['{"price":1.50}', '{"price":1.50}'],
  ['{"size":1e5}', '{"size":1e5}'],
  ['{"name"', '{"name"'],
])('indented JSON keeps the digits of its numbers: %s', (text, indented) => {
  expect(indentJson(text)).toBe(indented)
})

test.each(['[1]', '1', 'null', '{', ''])('%j is no JSON object', (text) => {
  expect(parseObject(text)).toBeUndefined()
})
