import { expect, test } from 'vitest'
import { recordKeysOf } from './record-keys.ts'

test('a key of one value may be a text or a number', () => {
  expect(recordKeysOf('7')).toEqual(['["7"]', '[7]'])
  expect(recordKeysOf('a"b')).toEqual(['["a\\"b"]'])
})

test('a comma may be part of a value or separate two', () => {
  expect(new Set(recordKeysOf('a,1'))).toEqual(new Set(['["a", "1"]', '["a", 1]', '["a,1"]']))
})

test('a text with too many readings has none', () => {
  expect(recordKeysOf('1,'.repeat(20))).toBeUndefined()
  expect(recordKeysOf('a,'.repeat(400))).toBeUndefined()
})
