import { expect, test } from 'vitest'
import { secondsToWait } from './retry-policy.ts'

const now = new Date('2026-03-04T05:06:07Z')

test('webhooks › retry policy › makes four attempts with pauses of 1, 5 and 25 s', () => {
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
] as const)(
  'webhooks › retry policy › with Retry-After: %s, waits %i s before the third attempt',
  (header, seconds) => {
    expect(secondsToWait(2, header, now)).toBe(seconds)
  },
)

test('webhooks › retry policy › makes no fifth attempt for a Retry-After header', () => {
  expect(secondsToWait(4, '10', now)).toBeUndefined()
})
