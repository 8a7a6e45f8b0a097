import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createTransport } from './transport.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) })
})
afterEach(() => {
  vi.useRealTimers()
})

test.each([
  ['no time', undefined, 200, 400],
  ['no seconds', '0', 200, 400],
  ['a past date', 'Wed, 31 Dec 2025 23:59:00 GMT', 200, 400],
  ['longer seconds', '5', 5000, 5000],
])(
  'request retries › wait for the backoff or a longer Retry-After: %s',
  async (_what, retryAfter, least, most) => {
    let requests = 0
    const transport = createTransport({
      url: 'http://localhost',
      async fetch() {
        requests += 1
        const headers = new Headers(retryAfter === undefined ? {} : { 'retry-after': retryAfter })
        return requests > 1 ? Response.json({ fine: true }) : new Response('', { status: 503, headers })
      },
    })
    const answer = transport.request('GET', 'health', { isRepeatable: true })
    await vi.advanceTimersByTimeAsync(least - 1)
    expect(requests).toBe(1)
    await vi.advanceTimersByTimeAsync(most - least + 1)
    expect(await answer).toEqual({ fine: true })
    expect(requests).toBe(2)
  },
)
