import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { readError } from './response.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) })
})
afterEach(() => {
  vi.useRealTimers()
})

test('Retry-After › is relative to the Date header, whatever the clock of the device', () => {
  const headers = {
    date: 'Fri, 02 Jan 2026 00:00:00 GMT',
    'retry-after': 'Fri, 02 Jan 2026 00:00:20 GMT',
  }
  expect(readError(new Response('', { status: 503, headers }), '').retryAfterSeconds).toBe(20)
})

test.each([
  ['90', 90],
  ['Thu, 01 Jan 2026 00:01:30 GMT', 90],
  ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
  ['soon', undefined],
])('Retry-After › parses %s of a proxy as seconds from now', (retryAfter, retryAfterSeconds) => {
  const response = new Response('<html>', { status: 503, headers: { 'retry-after': retryAfter } })
  const message = 'the server is restarting or unavailable; try again in a moment'
  expect(readError(response, '<html>')).toMatchObject({
    error: 'http_503',
    message,
    status: 503,
    retryAfterSeconds,
  })
})
