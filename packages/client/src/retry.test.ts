import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createTransport, type TransportOptions } from './transport.ts'

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

/** Creates a transport whose server is unavailable until a number of milliseconds has passed. */
function createRestarting(unavailableMs: number, options: Partial<TransportOptions> = {}) {
  const startsAt = performance.now() + unavailableMs
  const keys: (string | null)[] = []
  const transport = createTransport({
    url: 'http://localhost',
    async fetch(_address, init) {
      keys.push(new Headers(init?.headers).get('idempotency-key'))
      if (performance.now() < startsAt) throw new TypeError('fetch failed')
      return Response.json({ fine: true })
    },
    ...options,
  })
  return { keys, transport }
}

/** Returns the error of a promise, also if it is awaited later. */
const failureOf = (work: Promise<unknown>) => work.then(undefined, (error: unknown) => error)

describe('request retries', () => {
  test('wait for a server that restarts for ten seconds, with one idempotency key for a write', async () => {
    const { keys, transport } = createRestarting(10_000)
    const write = transport.write('POST', 'collections/task', { body: {} })
    const read = transport.request('GET', 'health', { isRepeatable: true })
    await vi.advanceTimersByTimeAsync(15_000)
    expect(await Promise.all([write, read])).toEqual([{ fine: true }, { fine: true }])
    expect(new Set(keys)).toEqual(new Set([expect.stringMatching(/./), null]))
    // The pauses grow, so that many clients do not keep a server from starting.
    expect(keys.length).toBeLessThan(24)
  })

  test('end with the error when their time is over, and the time counts from the first failure', async () => {
    const { keys, transport } = createRestarting(Number.POSITIVE_INFINITY)
    const failed = failureOf(transport.write('POST', 'collections/task', { body: {} }))
    await vi.advanceTimersByTimeAsync(14_999)
    const before = keys.length
    await vi.advanceTimersByTimeAsync(1)
    expect(await failed).toMatchObject({ error: 'network_error' })
    expect(keys.length).toBe(before + 1)
    const slow = createTransport({
      url: 'http://localhost',
      retryForMs: 5000,
      fetch: (_address, init) =>
        new Promise((_resolve, reject) => {
          keys.push('slow')
          init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
        }),
    })
    keys.length = 0
    const timedOut = failureOf(slow.request('GET', 'health', { isRepeatable: true }))
    await vi.advanceTimersByTimeAsync(70_000)
    expect(await timedOut).toMatchObject({
      error: 'timeout',
      message: 'the server has not responded in time; try again',
    })
    expect(keys).toEqual(['slow', 'slow'])
  })

  test('last as long as one request says, or do not happen', async () => {
    const { keys, transport } = createRestarting(40_000)
    const detail = { isRepeatable: true, retryForMs: 60_000 }
    const lasting = transport.request('GET', 'health', detail)
    const none = transport.request('GET', 'health', { ...detail, retryForMs: 0 })
    await expect(none).rejects.toMatchObject({ error: 'network_error' })
    expect(keys).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(45_000)
    expect(await lasting).toEqual({ fine: true })
    expect(() => createTransport({ url: 'http://localhost', retryForMs: -1 })).toThrow(
      'retryForMs is a number of milliseconds, 0 for no retries',
    )
  })

  test('end at once when the request is aborted', async () => {
    const { keys, transport } = createRestarting(10_000)
    const controller = new AbortController()
    const { signal } = controller
    const failed = failureOf(transport.write('POST', 'collections/task', { body: {}, signal }))
    await vi.advanceTimersByTimeAsync(3000)
    const before = keys.length
    controller.abort(new Error('left'))
    expect(await failed).toEqual(new Error('left'))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(keys).toHaveLength(before)
  })

  test('do not wait for a Retry-After that is longer than their time', async () => {
    let requests = 0
    const transport = createTransport({
      url: 'http://localhost',
      async fetch() {
        requests += 1
        return new Response('', { status: 503, headers: { 'retry-after': '20' } })
      },
    })
    const failed = transport.request('GET', 'health', { isRepeatable: true })
    await expect(failed).rejects.toMatchObject({ status: 503, retryAfterSeconds: 20 })
    expect(requests).toBe(1)
  })
})
