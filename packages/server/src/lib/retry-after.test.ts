import { expect, test } from 'vitest'
import { readRetryAfter } from './retry-after.ts'

const now = new Date('2026-01-02T03:04:05Z')

test.each([
  ['120', 120],
  [' 0 ', 0],
  ['Fri, 02 Jan 2026 03:05:05 GMT', 60],
  ['Fri, 02 Jan 2026 03:00:00 GMT', 0],
  ['soon', undefined],
  ['', undefined],
  ['9'.repeat(10), undefined],
  [['1', '2'], undefined],
  [null, undefined],
  [undefined, undefined],
])('Retry-After › parses %j as %j seconds', (value, seconds) => {
  expect(readRetryAfter(value, now)).toBe(seconds)
})
