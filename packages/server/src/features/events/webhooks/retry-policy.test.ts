import { expect, test } from 'vitest'
import { secondsToWait } from './retry-policy.ts'

const now = new Date('2026-03-04T05:06:07Z')

test('four attempts with waits of 1, 5 and 25 seconds', () => {
  expect([1, 2, 3, 4].map((attempt) => secondsToWait(attempt, undefined, now))).toEqual([1, 5, 25, undefined])
})

test.each([
  ['10', 10],
  ['3', 5],
  ['86400', 300],
  ['Wed, 04 Mar 2026 05:06:27 GMT', 20],
  ['Wed, 04 Mar 2026 05:00:00 GMT', 5],
  ['Fri, 04 Mar 2050 05:00:00 GMT', 300],
  ['soon', 5],
  ['-7', 5],
  ['', 5],
] as const)('Retry-After: %s makes the second wait %i', (header, seconds) => {
  expect(secondsToWait(2, header, now)).toBe(seconds)
})

test('no Retry-After makes a fifth attempt', () => {
  expect(secondsToWait(4, '10', now)).toBeUndefined()
})
