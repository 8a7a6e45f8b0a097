import { expect, test } from 'vitest'
import { isStorableJson } from './storable-text.ts'

test.each([null, 1, true, '', 'é😀', [], {}, { a: [{ b: 'c' }] }])('storable text › accepts %j', (value) => {
  expect(isStorableJson(value)).toBe(true)
})

test.each(['a\0', '\ud800', '\udc00a', ['\0'], { '\0': 1 }, { a: { '\ud800': 1 } }, [[{ a: '\udfff' }]]])(
  'storable text › rejects %j',
  (value) => {
    expect(isStorableJson(value)).toBe(false)
  },
)
