import { expect, test } from 'vitest'
import { secondsBeforeRetry } from './retry-policy.ts'

const policy = { attempts: 5, delay: 2, delayMax: 10, backoff: 2 }

test('retry policy › grows the delay up to the maximum, and has none after the last attempt', () => {
  const waits = [1, 2, 3, 4, 5, 6].map((attempt) => secondsBeforeRetry(policy, attempt))
  expect(waits).toEqual([2, 4, 8, 10, undefined, undefined])
})

test('retry policy › returns the maximum delay after a thousand attempts', () => {
  expect(secondsBeforeRetry({ ...policy, attempts: 2000 }, 1999)).toBe(10)
})
