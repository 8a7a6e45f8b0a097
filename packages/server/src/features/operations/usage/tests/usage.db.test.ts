import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { alice, notes } from '../../../../../test/fixtures.ts'
import { forgeJwt } from '../../../../../test/jwt.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  userToken,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { openWebSocket } from '../../../../../test/websocket-client.ts'
import type { AnsweredRequest } from '../../../../http/observation/request-observer.ts'
import { systemClock } from '../../../../lib/clock.ts'
import { TaskQueue } from '../../../../lib/task-queue.ts'
import { Meter } from '../meter.ts'

const defaultApp = '00000000-0000-0000-0000-000000000000'
const shop = '5b0b0000-0000-4000-8000-000000000001'
const unknown = '5b0b0000-0000-4000-8000-0000000000ff'
const now = new Date('2026-03-15T12:34:56Z')
const clock = { now: () => now }

/** Token that is valid by the clock of these tests. */
const marchToken = forgeJwt({
  payload: {
    sub: alice,
    email: '',
    aal: 'aal1',
    amr: ['password'],
    iat: now.getTime() / 1000,
    exp: now.getTime() / 1000 + 900,
  },
})

const apps = `insert into basalt.apps (id, name, plan) values ('${shop}', 'shop', 'free')`
const plans = JSON.stringify({ free: { api_requests: 100, bandwidth_bytes: 5_000_000 } })

function answered(changes: Partial<AnsweredRequest> = {}): AnsweredRequest {
  return {
    at: now,
    requestId: 'test-request',
    method: 'GET',
    path: '/api/collections/note',
    route: '/api/collections/:table',
    operation: 'collections.list',
    status: 200,
    impersonator: undefined,
    durationMs: 1,
    caller: 'user',
    appId: shop,
    keyId: undefined,
    userId: alice,
    address: '127.0.0.1',
    bytesIn: 100,
    bytesOut: 1000,
    ...changes,
  }
}

function createMeter(app: TestApp, options: Partial<ConstructorParameters<typeof Meter>[0]> = {}): Meter {
  const { system } = app.app.database
  return new Meter({
    database: system,
    lane: new TaskQueue(),
    clock,
    log: pino({ level: 'silent' }),
    ...options,
  })
}

describe('/api/admin/usage', () => {
  let app: TestApp
  let token: string

  beforeAll(async () => {
    app = await createTestApp({ setup: notes + apps, clock, config: { 'usage.plans': plans } })
    token = await app.adminToken()
    const meter = createMeter(app, {
      measureStorage: async () => new Map([[shop, 4096]]),
    })
    for (let count = 0; count < 30; count += 1) meter.onAnswer(answered())
    meter.onAnswer(answered({ method: 'POST', status: 201 }))
    meter.onAnswer(answered({ route: undefined, status: 404 }))
    meter.onAnswer(answered({ operation: 'rpc.call', route: '/api/rpc/:name' }))
    meter.onAnswer(answered({ at: new Date('2026-03-14T23:59:59Z') }))
    meter.onAnswer(answered({ at: new Date('2026-02-28T10:00:00Z') }))
    meter.addJobRun()
    await meter.stop()
  })
  afterAll(() => app[Symbol.asyncDispose]())

  const get = (path: string) => app.request('GET', `/api/admin/usage${path}`, { token })

  test('list › returns the figures of every app in the last thirty days', async () => {
    const { json } = await get('?sort=tenant_name:desc')
    expect(json).toMatchObject({ total: 2, limit: 50, offset: 0 })
    expect(json.items[0]).toEqual({
      tenantId: shop,
      tenantName: 'shop',
      requestCount: 35,
      storageBytesUsed: 4096,
      bandwidthBytes: 35 * 1100,
      bandwidthInBytes: 3500,
      bandwidthOutBytes: 35_000,
      functionInvocations: 1,
      realtimePeakConnections: 0,
      jobRuns: 0,
    })
    expect(json.items[1]).toMatchObject({ tenantId: defaultApp, tenantName: 'default', jobRuns: 1 })
  })

  test.each([
    ['sort=-request_count', [shop, defaultApp]],
    ['sort=%2Brequest_count', [defaultApp, shop]],
    ['sort=request_count:asc', [defaultApp, shop]],
    ['sort=job_runs', [defaultApp, shop]],
    ['sort=tenant_id:asc&limit=1', [defaultApp]],
    ['sort=tenant_id:asc&limit=1&offset=1', [shop]],
  ])('list › orders by %s', async (query, expected) => {
    const { json } = await get(`?from=2026-03-01&to=2026-03-31&${query}`)
    // The sign-in of this test is a request of the default app, which is counted after the list is read.
    expect(json.items.map(({ tenantId }: { tenantId: string }) => tenantId)).toEqual(expected)
  })

  test('get › returns days, totals, limits and the plan', async () => {
    const { json } = await get(`/${shop}`)
    expect(json).toEqual({
      tenantId: shop,
      period: 'month',
      data: [
        {
          date: '2026-02-28',
          apiRequests: 1,
          storageBytesUsed: 0,
          bandwidthBytes: 1100,
          functionInvocations: 0,
        },
        {
          date: '2026-03-14',
          apiRequests: 1,
          storageBytesUsed: 0,
          bandwidthBytes: 1100,
          functionInvocations: 0,
        },
        {
          date: '2026-03-15',
          apiRequests: 33,
          storageBytesUsed: 4096,
          bandwidthBytes: 33 * 1100,
          functionInvocations: 1,
        },
      ],
      totals: {
        apiRequests: 35,
        storageBytesUsed: 4096,
        bandwidthBytes: 35 * 1100,
        functionInvocations: 1,
      },
      limits: { apiRequests: 100, storageBytesUsed: 0, bandwidthBytes: 5_000_000, functionInvocations: 0 },
      plan: 'free',
    })
  })

  test.each([
    ['period=day', 33],
    ['period=week', 34],
    ['period=month', 35],
    ['from=2026-02-01&to=2026-02-28', 1],
    ['from=2026-02-28&to=2026-03-14', 2],
  ])('get › counts the days of %s in UTC', async (query, requests) => {
    const { json } = await get(`/${shop}?${query}`)
    expect(json.totals.apiRequests).toBe(requests)
  })

  test('limits › of a period returns its usage', async () => {
    const { json } = await get(`/${shop}/limits?period=month`)
    expect(json.metrics.api_requests).toEqual({ limit: 100, used: 35, remaining: 65 })
  })

  test('limits › returns the usage in the calendar month and what remains', async () => {
    const { json } = await get(`/${shop}/limits`)
    expect(json).toEqual({
      plan: 'free',
      metrics: {
        api_requests: { limit: 100, used: 34, remaining: 66 },
        storage_bytes: { limit: 0, used: 4096, remaining: null },
        bandwidth_bytes: { limit: 5_000_000, used: 34 * 1100, remaining: 5_000_000 - 34 * 1100 },
        function_invocations: { limit: 0, used: 1, remaining: null },
      },
    })
  })

  test('trends › returns a value for each step, including empty ones', async () => {
    const days = await get('/trends?metric=bandwidth_bytes&from=2026-03-13&to=2026-03-14')
    expect(days.json).toEqual({
      metric: 'bandwidth_bytes',
      granularity: 'day',
      items: [
        { timestamp: '2026-03-13T00:00:00.000Z', value: 0 },
        { timestamp: '2026-03-14T00:00:00.000Z', value: 1100 },
      ],
    })
    const hours = await get('/trends?metric=api_requests&granularity=hour&from=2026-03-14&to=2026-03-14')
    expect(hours.json.items).toHaveLength(24)
    expect(hours.json.items[23]).toEqual({ timestamp: '2026-03-14T23:00:00.000Z', value: 1 })
    const months = await get('/trends?metric=api_requests&granularity=month&from=2026-02-01&to=2026-02-28')
    expect(months.json.items).toEqual([{ timestamp: '2026-02-01T00:00:00.000Z', value: 1 }])
  })

  test('breakdown › groups by tenant, endpoint and status code', async () => {
    const of = async (query: string) => (await get(`/breakdown?${query}`)).json
    expect((await of('metric=storage_bytes&limit=1')).items).toEqual([
      { key: shop, name: 'shop', value: 4096 },
    ])
    const days = 'from=2026-03-14&to=2026-03-14&metric=api_requests'
    expect(await of(`${days}&group_by=endpoint`)).toEqual({
      metric: 'api_requests',
      groupBy: 'endpoint',
      items: [{ key: 'GET /api/collections/:table', value: 1 }],
    })
    expect((await of(`${days}&group_by=status_code`)).items).toEqual([{ key: '200', value: 1 }])
    const today = await of('metric=api_requests&group_by=endpoint&period=day')
    expect(today.items).toContainEqual({ key: '(no route)', value: 1 })
    expect(today.items).toContainEqual({ key: 'POST /api/collections/:table', value: 1 })
  })

  test.each([
    ['?sort=name', 'invalid sort'],
    ['?sort=-job_runs:asc', 'invalid sort'],
    ['?limit=0', 'invalid limit'],
    ['?limit=x', 'invalid limit'],
    ['?offset=-1', 'invalid offset'],
    ['?period=year', 'invalid period or date range'],
    ['?from=2026-03-01', 'invalid period or date range'],
    ['?from=2026-02-30&to=2026-03-01', 'invalid period or date range'],
    ['?from=2026-03-02&to=2026-03-01', 'invalid period or date range'],
    ['?period=day&from=2026-03-01&to=2026-03-01', 'invalid period or date range'],
    ['/trends', 'metric is required'],
    ['/trends?metric=x', 'invalid metric'],
    ['/trends?metric=job_runs&granularity=hour', 'invalid granularity'],
    ['/breakdown', 'metric is required'],
    ['/breakdown?metric=api_requests&group_by=x', 'invalid group_by'],
    ['/breakdown?metric=job_runs&group_by=endpoint', 'invalid metric/group_by combination'],
    ['/x', 'invalid tenant_id format'],
    ['/x/limits', 'invalid tenant_id format'],
  ])('%s › returns 400 %s', async (path, message) => {
    const { status, json } = await get(path)
    expect([status, json.message]).toEqual([400, message])
  })

  test('choices › returns the valid ones for an unknown one', async () => {
    const { json } = await get('/breakdown?metric=api_requests&group_by=x')
    expect(json.data).toEqual({ expected: ['tenant', 'endpoint', 'status_code'] })
  })

  test.each(['', '/limits'])('unknown apps%s › returns 404 and creates no counter', async (path) => {
    const response = await get(`/${unknown}${path}`)
    expect(response.status).toBe(404)
    expect(envelope(response)).toMatchObject({ error: 'tenant_not_found', message: 'tenant not found' })
    expect(await app.sql('select from basalt.usage_hours where app_id = $1', [unknown])).toEqual([])
  })

  test.each(['/api/usage', '/api/usage/limits'])('%s › returns 403 to a user of no app', async (path) => {
    const response = await app.request('GET', path, { token: marchToken })
    expect([response.status, response.json.message]).toEqual([403, 'tenant context required'])
  })

  test('set plan › applies at once and is audited', async () => {
    const change = (id: string, plan: string) =>
      app.request('PUT', `/api/admin/usage/${id}/plan`, { token, body: { plan } })
    expect((await change(shop, 'default')).json.metrics.api_requests).toEqual({
      limit: 0,
      used: 34,
      remaining: null,
    })
    expect((await change(shop, 'free')).json.plan).toBe('free')
    expect((await change(shop, 'gold')).json.message).toBe('unknown plan "gold"')
    expect((await change(unknown, 'free')).status).toBe(404)
    const { json } = await app.request('GET', `/api/admin/audit?action=usage.set_plan`, { token })
    expect(json.items.map(({ detail }: { detail: object }) => detail)).toEqual([
      { plan: 'free' },
      { plan: 'default' },
    ])
  })
})

describe('usage › counting', () => {
  test('counts responses with the bytes of the connection, over two nodes', async () => {
    await using first = await createTestApp({ setup: notes })
    await using second = await createTestApp({ database: first.database })
    const send = (app: TestApp, path: string) =>
      app.request('GET', path, { token: userToken({ sub: alice }) })
    await Promise.all(
      [first, second].flatMap((app) => Array.from({ length: 10 }, () => send(app, '/api/collections/note'))),
    )
    await send(first, '/nowhere')
    await second[Symbol.asyncDispose]()
    await expect
      .poll(
        async () =>
          await first.sql(
            `select endpoint, status, requests::int from basalt.usage_endpoints order by endpoint`,
          ),
      )
      .toEqual([
        { endpoint: '(no route)', status: 404, requests: 1 },
        { endpoint: 'GET /api/collections/:table', status: 200, requests: 20 },
      ])
    const [row] = await first.sql(
      'select requests::int, bytes_in::int, bytes_out::int from basalt.usage_hours',
    )
    expect(row?.requests).toBe(21)
    expect(row?.bytes_in).toBeGreaterThan(21 * 200)
    expect(row?.bytes_out).toBeGreaterThan(21 * 400)
  })

  test('dates and limits by the database clock on a node whose own is five hours fast', async () => {
    const token = userToken({ sub: alice })
    await using database = await createTestDatabase()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 5 * 3_600_000 })
    try {
      await using app = await createTestApp({ database, setup: notes })
      expect((await app.request('GET', '/api/collections/note', { token })).status).toBe(200)
      app.app.log.info('about now')
    } finally {
      vi.useRealTimers()
    }
    const dates = await database.sql(
      `select hour as date from basalt.usage_hours union all
      select logged_at from basalt.logs where message = 'about now' union all
      select happened_at from basalt.requests`,
    )
    const wrong = dates.filter(({ date }) => Math.abs(Date.now() - date.getTime()) > 2 * 3_600_000)
    expect([dates.length, wrong]).toEqual([3, []])
  })

  test('adds a batch once when its response was lost', async () => {
    await using app = await createTestApp({ setup: apps, clock })
    const { system } = app.app.database
    let isLost = true
    const database = new Proxy(system, {
      get: (target, name) =>
        name === 'count'
          ? async (statement: Parameters<typeof target.count>[0]) => {
              const count = await target.count(statement)
              if (isLost) throw new Error('the connection broke')
              return count
            }
          : Reflect.get(target, name),
    })
    const meter = createMeter(app, { database })
    meter.onAnswer(answered())
    await meter.flush()
    meter.onAnswer(answered())
    await meter.flush()
    isLost = false
    await meter.stop()
    const rows = await app.sql('select requests::int from basalt.usage_hours where app_id = $1', [shop])
    expect(rows).toEqual([{ requests: 2 }])
  })

  test('loses no count of ten nodes that write at once', async () => {
    await using app = await createTestApp({ setup: apps, clock })
    const meters = Array.from({ length: 10 }, () => createMeter(app))
    for (let round = 0; round < 5; round += 1) {
      for (const meter of meters) {
        for (const status of [200, 201, 404]) meter.onAnswer(answered({ status }))
        meter.onAnswer(answered({ appId: defaultApp }))
      }
      await Promise.all(meters.map((meter) => meter.flush()))
    }
    const [row] = await app.sql(
      `select sum(requests)::int as requests from basalt.usage_hours where app_id = $1`,
      [shop],
    )
    expect(row).toEqual({ requests: 150 })
  })

  test('bounds its memory, and keeps the sum right beyond the limit of counters', async () => {
    await using app = await createTestApp({ setup: apps, clock })
    const meter = createMeter(app, { limit: 5 })
    for (let count = 0; count < 50; count += 1) meter.onAnswer(answered({ route: `/r/${count}` }))
    await meter.stop()
    const rows = await app.sql(
      `select count(*)::int as endpoints, sum(requests)::int as requests,
        max(requests) filter (where endpoint = '(other)')::int as other
      from basalt.usage_endpoints where app_id = $1`,
      [shop],
    )
    expect(rows).toEqual([{ endpoints: 6, requests: 50, other: 45 }])
  })

  test('realtime › counts the peak of all nodes together', async () => {
    await using app = await createTestApp({ setup: apps, clock })
    const stream = () => {
      let close = () => {}
      return {
        appId: shop,
        operation: 'realtime.stream',
        takeTraffic: () => ({ bytesIn: 1, bytesOut: 2 }),
        onClose: (listener: () => void) => {
          close = listener
        },
        close: () => close(),
      }
    }
    const [one, other] = [createMeter(app), createMeter(app)]
    const open = [stream(), stream(), stream()]
    for (const each of open) one.onStream(each)
    await one.flush()
    other.onStream(stream())
    await other.flush()
    for (const each of open) each.close()
    await one.flush()
    await other.flush()
    const peak = async () =>
      (await app.sql('select realtime_peak from basalt.usage_hours where app_id = $1', [shop]))[0]
    expect(await peak()).toEqual({ realtime_peak: 4 })
  })

  test('jobs › counts each run of a job', async () => {
    await using app = await createTestApp()
    const token = await app.adminToken()
    const body = { type: 'usage_retention' }
    expect((await app.request('POST', '/api/admin/jobs', { token, body })).status).toBe(201)
    await expect
      .poll(async () => (await app.sql('select sum(job_runs)::int as runs from basalt.usage_hours'))[0]?.runs)
      .toBe(1)
  })

  test('retention › deletes older usage', async () => {
    await using app = await createTestApp({ setup: apps, clock })
    const meter = createMeter(app)
    meter.onAnswer(answered({ at: new Date('2020-01-01T00:00:00Z') }))
    meter.onAnswer(answered({ at: systemClock.now() }))
    await meter.stop()
    const token = await app.adminToken()
    await app.request('POST', '/api/admin/jobs', {
      token,
      body: { type: 'usage_retention', payload: { retention_days: 100 } },
    })
    const left = async () =>
      (await app.sql('select count(*)::int as n from basalt.usage_endpoints where app_id = $1', [shop]))[0]?.n
    await expect.poll(left).toBe(1)
  })
})

describe('usage › keys', () => {
  test('counts requests of a key for its app, which its owner sees', async () => {
    await using app = await createTestApp({ setup: `${notes}${apps}`, config: { 'usage.plans': plans } })
    await app.sql('insert into basalt.users (id) values ($1)', [alice])
    const admin = await app.adminToken()
    const body = { userId: alice, name: 'nightly', scope: 'readonly', appId: shop }
    const made = await app.request('POST', '/api/admin/api-keys', { token: admin, body })
    expect(made.status).toBe(201)
    const { key, apiKey } = made.json
    const headers = { 'x-request-id': 'request-of-a-key' }
    for (let count = 0; count < 3; count += 1)
      expect((await app.request('GET', '/api/collections/note', { token: key, headers })).status).toBe(200)
    const own = async (path = '') => (await app.request('GET', `/api/usage${path}`, { token: key })).json
    await expect.poll(async () => (await own()).totals.apiRequests).toBeGreaterThanOrEqual(3)
    expect(await own()).toMatchObject({ tenantId: shop, plan: 'free' })
    expect((await own('/limits')).metrics.api_requests).toMatchObject({ limit: 100 })
    const path = `/api/admin/analytics/requests?request_id=request-of-a-key&api_key_id=${apiKey.id}&app_id=${shop}`
    const find = async () => (await app.request('GET', path, { token: admin })).json.count
    await expect.poll(find).toBe(3)
  })
})

describe('usage › enforcement', () => {
  test('rejects requests beyond the plan with 429 until the month ends, but never those of administrators', async () => {
    const config = { 'usage.enforce': 'true', 'usage.plans': '{"default":{"api_requests":25}}' }
    await using app = await createTestApp({ setup: notes, clock, config })
    const token = marchToken
    const statuses: number[] = []
    for (let count = 0; count < 30; count += 1)
      statuses.push((await app.request('GET', '/api/collections/note', { token })).status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(25)
    const refused = await app.request('GET', '/api/collections/note', { token })
    expect(envelope(refused)).toMatchObject({
      code: 429,
      error: 'usage_limit_exceeded',
      message: 'usage limit exceeded: api_requests',
    })
    const end = Date.UTC(2026, 3) - now.getTime()
    expect(refused.headers.get('retry-after')).toBe(String(Math.ceil(end / 1000)))
    await using socket = await openWebSocket(app.url, { token })
    expect(await socket.ended()).toEqual({ code: 4008, reason: 'usage limit exceeded: api_requests' })
    const admin = await app.adminToken()
    expect((await app.request('GET', '/api/collections/note', { token: admin })).status).toBe(200)
  })

  test('applies a change of the plan on every node, without the regular poll', async () => {
    // Only the notifications remain.
    vi.useFakeTimers({ toFake: ['setInterval'] })
    try {
      const config = {
        'usage.enforce': 'true',
        'usage.plans': '{"small":{"api_requests":2},"large":{"api_requests":1000}}',
      }
      await using first = await createTestApp({ setup: notes, clock, config })
      await using second = await createTestApp({ database: first.database, clock, config })
      const statusOn = async (app: TestApp) =>
        (await app.request('GET', '/api/collections/note', { token: marchToken })).status
      const setPlan = async (plan: string) =>
        (
          await first.request('PUT', `/api/admin/usage/${defaultApp}/plan`, {
            token: await first.adminToken(),
            body: { plan },
          })
        ).status
      for (const app of [first, second]) expect(await statusOn(app)).toBe(200)
      expect(await setPlan('small')).toBe(200)
      for (const app of [first, second])
        await waitFor('the small plan', async () => (await statusOn(app)) === 429)
      expect(await setPlan('large')).toBe(200)
      for (const app of [first, second])
        await waitFor('the large plan', async () => (await statusOn(app)) === 200)
    } finally {
      vi.useRealTimers()
    }
  })
})
