import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type LeaseRequest, type LeaseResponse, leaseSeconds, Permits } from './permits.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

interface StoredLease {
  permits: number
  ahead: number
  readonly beginsAt: number
  endsAt: number
}

/** Model of `basalt.lease_permits`, in milliseconds. */
class Ledger {
  readonly #leases = new Map<string, StoredLease>()
  readonly #limit: number
  readonly #windowMs: number

  constructor(limit: number, windowMs: number) {
    this.#limit = limit
    this.#windowMs = windowMs
  }

  lease(now: number, { id, needed, neededAhead, reports }: LeaseRequest): LeaseResponse {
    for (const report of reports) {
      const lease = this.#leases.get(report.id)
      if (lease === undefined) continue
      lease.permits = Math.min(lease.permits, report.used + report.left)
      lease.ahead = report.left
      if (report.left === 0)
        lease.endsAt = Math.min(lease.endsAt, lease.beginsAt + report.usedForSeconds * 1000)
    }
    for (const [key, { permits, endsAt }] of this.#leases)
      if (permits === 0 || endsAt <= now - this.#windowMs) this.#leases.delete(key)
    const leases = [...this.#leases.values()]
    const counted = leases.reduce((sum, { permits }) => sum + permits, 0)
    const outstanding = leases.reduce((sum, { ahead, endsAt }) => sum + (endsAt > now ? ahead : 0), 0)
    const granted = Math.max(0, Math.min(needed, this.#limit - counted))
    const quota = Math.trunc((Math.trunc(this.#limit / 25) - outstanding + 1) / 2)
    const ahead = Math.max(0, Math.min(neededAhead, this.#limit - counted - granted, quota))
    if (granted + ahead > 0) {
      const endsAt = now + leaseSeconds * 1000
      this.#leases.set(id, { permits: granted + ahead, ahead, beginsAt: now, endsAt })
    }
    const earliest = Math.min(...[...this.#leases.values()].map(({ endsAt }) => endsAt))
    const retryAfterMs = granted < needed ? earliest + this.#windowMs - now : undefined
    return { granted: granted + ahead, retryAfterMs }
  }
}

interface Load {
  readonly limit: number
  readonly windowSeconds: number
  readonly nodes: number
  readonly latencyMs: number
  readonly everyMs: number
  readonly forMs: number
  /** Number of requests in every seventh arrival. */
  readonly burst?: number
  /** Number of nodes that stop in the middle, with the permits they hold. */
  readonly killed?: number
}

/** Sends requests to the nodes in turn. @returns when requests passed, in milliseconds */
async function run({ limit, windowSeconds, nodes, latencyMs, everyMs, forMs, burst = 1, killed = 0 }: Load) {
  const ledger = new Ledger(limit, windowSeconds * 1000)
  const appLimit = { requests: limit, windowSeconds }
  let ids = 0
  const delay = () => new Promise<void>((resolve) => setTimeout(resolve, latencyMs / 2))
  const permits = Array.from(
    { length: nodes },
    () =>
      new Permits({
        limit: appLimit,
        newId: () => String(ids++),
        now: () => performance.now(),
        async lease(request) {
          await delay()
          const answer = ledger.lease(performance.now(), request)
          await delay()
          return answer
        },
      }),
  )
  const passed: number[] = []
  for (let at = 0, turn = 0; at < forMs; at += everyMs, turn += 1) {
    const alive = at > forMs / 2 ? nodes - killed : nodes
    const note = (value: unknown) => value === undefined && passed.push(performance.now())
    for (let count = turn % 7 === 0 ? burst : 1; count > 0; count -= 1) {
      const refusal = permits[turn % alive]?.take(appLimit)
      if (refusal instanceof Promise) void refusal.then(note)
      else note(refusal)
    }
    await vi.advanceTimersByTimeAsync(everyMs)
  }
  await vi.advanceTimersByTimeAsync(latencyMs * 3)
  return passed
}

/** Returns the maximum number of requests that passed within a window. */
function densest(passed: readonly number[], windowMs: number): number {
  let most = 0
  let first = 0
  passed.forEach((at, index) => {
    while ((passed[first] ?? at) <= at - windowMs) first += 1
    most = Math.max(most, index - first + 1)
  })
  return most
}

describe('apps › permits', () => {
  test('never exceed the limit in any window, whatever the nodes, the latency and the load', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          limit: fc.integer({ min: 1, max: 200 }),
          windowSeconds: fc.constantFrom(1, 2, 5),
          nodes: fc.integer({ min: 2, max: 4 }),
          latencyMs: fc.constantFrom(2, 20, 300, 2600),
          everyMs: fc.constantFrom(3, 17, 60),
          forMs: fc.constantFrom(4000, 9000),
          burst: fc.constantFrom(1, 30, 200),
          killed: fc.integer({ min: 0, max: 1 }),
        }),
        async (load) => {
          const passed = await run(load)
          expect(densest(passed, load.windowSeconds * 1000)).toBeLessThanOrEqual(load.limit)
        },
      ),
      { numRuns: 40 },
    )
  })

  test.each([
    [{ limit: 100, windowSeconds: 1, everyMs: 2 }],
    [{ limit: 1000, windowSeconds: 10, everyMs: 5 }],
    [{ limit: 40, windowSeconds: 5, everyMs: 20 }],
    [{ limit: 600, windowSeconds: 60, everyMs: 25 }],
  ])('let one client use 95 %% of the limit: %j', async ({ limit, windowSeconds, everyMs }) => {
    const forMs = windowSeconds * 10_000
    const passed = await run({ limit, windowSeconds, nodes: 1, latencyMs: 4, everyMs, forMs })
    expect(densest(passed, windowSeconds * 1000)).toBe(limit)
    expect(passed.length).toBeGreaterThanOrEqual(0.95 * limit * 10)
  })

  test('let a client of two nodes use 95 % of the limit', async () => {
    const passed = await run({
      limit: 200,
      windowSeconds: 2,
      nodes: 2,
      latencyMs: 4,
      everyMs: 3,
      forMs: 20_000,
    })
    expect(passed.length).toBeGreaterThanOrEqual(0.95 * 200 * 10)
  })

  test('pass requests below the limit without a refusal', async () => {
    const passed = await run({
      limit: 100,
      windowSeconds: 1,
      nodes: 1,
      latencyMs: 4,
      everyMs: 11,
      forMs: 11_000,
    })
    expect(passed).toHaveLength(1000)
  })

  test('do not wait for the database while the limit is far', async () => {
    const appLimit = { requests: 10_000, windowSeconds: 60 }
    const ledger = new Ledger(10_000, 60_000)
    let ids = 0
    const permits = new Permits({
      limit: appLimit,
      newId: () => String(ids++),
      now: () => performance.now(),
      lease: async (request) => ledger.lease(performance.now(), request),
    })
    expect(await permits.take(appLimit)).toBeUndefined()
    for (let index = 0; index < 1000; index += 1) {
      expect(permits.take(appLimit)).toBeUndefined()
      await vi.advanceTimersByTimeAsync(1)
    }
    expect(ids).toBeLessThan(15)
  })

  test('reject requests with the failure when the database fails', async () => {
    const appLimit = { requests: 10, windowSeconds: 60 }
    const permits = new Permits({
      limit: appLimit,
      newId: () => 'x',
      now: () => performance.now(),
      lease: () => Promise.reject(new Error('unavailable')),
    })
    await expect(permits.take(appLimit)).rejects.toThrow('unavailable')
  })
})
