import { expect, test } from 'vitest'
import { recordKeysOf } from './record-keys.ts'

test('record keys › reads one value as a text or a number', () => {
  expect(recordKeysOf('7')).toEqual(['["7"]', '[7]'])
  expect(recordKeysOf('a"b')).toEqual(['["a\\"b"]'])
})

test('record keys › reads a comma as part of a value or as a separator', () => {
  expect(new Set(recordKeysOf('a,1'))).toEqual(new Set(['["a", "1"]', '["a", 1]', '["a,1"]']))
})

test('record keys › returns undefined for a text with too many readings', () => {
  expect(recordKeysOf('1,'.repeat(20))).toBeUndefined()
  expect(recordKeysOf('a,'.repeat(400))).toBeUndefined()
})
