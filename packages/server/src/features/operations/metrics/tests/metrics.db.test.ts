import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, notes } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup: notes })
})
afterAll(() => app[Symbol.asyncDispose]())

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Parses the Prometheus text format, version 0.0.4. Throws on a malformed line. */
function parseMetrics(text: string): { types: Map<string, string>; samples: Sample[] } {
  expect(text.endsWith('\n')).toBe(true)
  const types = new Map<string, string>()
  const samples: Sample[] = []
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line)
    if (comment !== null) {
      if (comment[1] === 'TYPE') types.set(comment[2] ?? '', comment[3] ?? '')
      continue
    }
    const sample = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (-?[\d.e+-]+|[Nn]a[Nn]|[+-]Inf)$/.exec(line)
    if (sample === null) throw new Error(`no metric: ${line}`)
    const [, name = '', labels = '', value] = sample
    const pairs = [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)/g)]
    samples.push({
      name,
      labels: Object.fromEntries(pairs.map(([, label = '', content = '']) => [label, content])),
      value: Number(value),
    })
  }
  return { types, samples }
}

async function readSamples(): Promise<Sample[]> {
  return parseMetrics((await app.request('GET', '/metrics')).text).samples
}

async function count(operation: string, status: number): Promise<number> {
  const found = (await readSamples()).find(
    ({ name, labels }) =>
      name === 'basalt_http_requests_total' &&
      labels.operation === operation &&
      labels.status === String(status),
  )
  return found?.value ?? 0
}

describe('GET /metrics', () => {
  test('returns the Prometheus text format', async () => {
    const response = await app.request('GET', '/metrics')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('no-store')
    const { types, samples } = parseMetrics(response.text)
    expect(types.get('basalt_http_requests_total')).toBe('counter')
    expect(types.get('basalt_http_request_duration_seconds')).toBe('histogram')
    expect(types.get('basalt_database_connections')).toBe('gauge')
    expect(samples).toContainEqual({
      name: 'basalt_realtime_connections',
      labels: { transport: 'sse' },
      value: 0,
    })
    expect(types.has('process_resident_memory_bytes')).toBe(true)
    for (const { name } of samples) {
      expect(
        [...types.keys()].some((type) => name.startsWith(type)),
        name,
      ).toBe(true)
    }
  })

  test('counts requests by operation and status', async () => {
    await app.request('GET', '/api/collections/note', { token })
    await app.request('GET', '/api/collections/note')
    const before = {
      ok: await count('collections.list', 200),
      refused: await count('collections.list', 401),
      missed: await count('unknown', 404),
    }
    await Promise.all(Array.from({ length: 7 }, () => app.request('GET', '/api/collections/note', { token })))
    await app.request('HEAD', '/api/collections/note', { token })
    await app.request('GET', '/api/collections/note', { token: 'x' })
    await app.request('GET', '/nothing')
    await expect.poll(() => count('unknown', 404)).toBe(before.missed + 1)
    expect(await count('collections.list', 200)).toBe(before.ok + 8)
    expect(await count('collections.list', 401)).toBe(before.refused + 1)
  })

  test('records durations in a histogram whose buckets add up', async () => {
    await app.request('GET', '/api/collections/note', { token })
    const samples = (await readSamples()).filter(({ labels }) => labels.operation === 'collections.list')
    const buckets = samples.filter(({ name }) => name === 'basalt_http_request_duration_seconds_bucket')
    const total =
      samples.find(({ name }) => name === 'basalt_http_request_duration_seconds_count')?.value ?? 0
    expect(total).toBeGreaterThan(0)
    expect(buckets.at(-1)).toMatchObject({ labels: { le: '+Inf' }, value: total })
    expect(buckets.map(({ value }) => value)).toEqual(
      buckets.map(({ value }) => value).toSorted((a, b) => a - b),
    )
  })

  test('shows the connections to the database', async () => {
    const connections = (await readSamples()).filter(({ name }) => name === 'basalt_database_connections')
    expect(connections.map(({ labels }) => labels.state)).toEqual(['busy', 'idle', 'waiting'])
    const limit = (await readSamples()).find(({ name }) => name === 'basalt_database_connection_limit')
    expect(limit?.value).toBe(10)
  })

  test('has a fixed number of series, whatever the number of paths, tables, methods and callers', async () => {
    const own = async () => (await readSamples()).filter(({ name }) => name.startsWith('basalt_http'))
    const read = async (round: number) => {
      for (let index = 0; index < 20; index += 1) {
        const secret = `s3cret-${round}-${index}`
        await app.request('GET', `/api/collections/${secret}?filter=${secret}`, { token })
        await app.request('GET', `/api/collections/note/${secret}`, { token })
        await app.request('GET', `/${secret}`, { token, headers: { 'x-request-id': secret } })
        await app.request('PROPFIND', '/health')
        await app.request('GET', '/api/collections/note', { token: secret })
      }
      await expect.poll(() => count('unknown', 405)).toBeGreaterThanOrEqual(20 * round)
    }
    await read(1)
    const before = await own()
    await read(2)
    const after = await own()
    expect(after).toHaveLength(before.length)
    const labels = new Set(after.flatMap((sample) => Object.keys(sample.labels)))
    expect(labels).toEqual(new Set(['operation', 'status', 'le']))
    expect(JSON.stringify(after)).not.toContain('s3cret')
  })
})

describe('GET /metrics › access', () => {
  test('is open to all callers by default', async () => {
    expect((await app.request('GET', '/metrics', { token: 'x' })).status).toBe(200)
  })

  test('requires metrics.token when it is set', async () => {
    const secret = 'a-token-for-prometheus'
    await using guarded = await createTestApp({
      database: app.database,
      config: { 'metrics.token': secret },
    })
    expect((await guarded.request('GET', '/metrics', { token: secret })).status).toBe(200)
    for (const [headers, message] of [
      [{}, 'missing or invalid authorization header'],
      [{ authorization: '' }, 'invalid or expired token'],
      [{ authorization: secret }, 'invalid or expired token'],
      [{ authorization: `Basic ${secret}` }, 'invalid or expired token'],
      [{ authorization: `Bearer ${secret}x` }, 'invalid or expired token'],
      [{ authorization: `Bearer ${secret.slice(0, -1)}` }, 'invalid or expired token'],
      [{ authorization: `Bearer ${token}` }, 'invalid or expired token'],
    ] as const) {
      const response = await guarded.request('GET', `/metrics?token=${secret}`, { headers })
      expect(response.status).toBe(401)
      expect(envelope(response).message).toBe(message)
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
    }
  })

  test('returns 404 when metrics are disabled', async () => {
    await using off = await createTestApp({ database: app.database, config: { 'metrics.enabled': 'false' } })
    const response = await off.request('GET', '/metrics')
    expect([response.status, envelope(response).error]).toEqual([404, 'route_not_found'])
  })
})
