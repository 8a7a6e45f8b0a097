import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { explaining } from '../../../../../test/explain.ts'
import { alice, notes } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { countByTime } from '../histogram.ts'
import { logSource } from '../log.ts'
import { requestSource } from '../request.ts'

/** A request each second of the first hour of 2026: every tenth is a POST, every hundredth fails. */
const requests = `
insert into basalt.requests
  (happened_at, method, path, operation, status, duration_ms, app_id, request_size, response_size, request_id, user_id, node)
select '2026-01-01T00:00:00Z'::timestamptz + make_interval(secs => n), case when n % 10 = 0 then 'POST' else 'GET' end,
  '/api/' || n % 2, 'test', case when n % 100 = 0 then 500 when n % 50 = 0 then 404 else 200 end, n % 7, gen_random_uuid(), 0, 0,
  n::text, case when n < 60 then '${alice}' end, 'one'
from generate_series(0, 3599) n`

/** An entry each second of the same hour, with a burst in the last minute. */
const logs = `
insert into basalt.logs (logged_at, level, message, node)
select '2026-01-01T00:00:00Z'::timestamptz + make_interval(secs => n), case when n % 30 = 0 then 50 when n % 20 = 0 then 40 else 30 end,
  case when n % 4 = 0 then 'Needle' else 'hay' end, 'one'
from generate_series(0, 3539) n
union all
select '2026-01-01T00:59:30Z', 30, case when n % 4 = 0 then 'Needle' else 'hay' end, 'one' from generate_series(1, 25000) n`

const paths = ['/api/admin/analytics/requests/histogram', '/api/admin/logs/histogram'] as const
const [ofRequests, ofLogs] = paths
const hour = { [ofRequests]: 'from=2026-01-01&to=2026-01-01T00:59:59.999Z', [ofLogs]: '' }
hour[ofLogs] = hour[ofRequests].replace('from', 'since').replace('to', 'until')

describe('histograms of logs and requests', () => {
  let app: TestApp
  let token: string
  beforeAll(async () => {
    app = await createTestApp({ setup: `${notes};${requests};${logs};analyze basalt.requests, basalt.logs` })
    token = await app.adminToken()
  })
  afterAll(() => app[Symbol.asyncDispose]())

  const read = async (path: (typeof paths)[number], query = '') => {
    const { json, status } = await app.request('GET', `${path}?${hour[path]}&${query}`, { token })
    expect(status).toBe(200)
    return json
  }
  const figures = ({ items }: { items: { count: number; errors: number }[] }) => ({
    counts: [...new Set(items.map(({ count }) => count))],
    errors: items.reduce((sum, { errors }) => sum + errors, 0),
  })

  test('GET /admin/analytics/requests/histogram › counts the requests and the failed ones of 60 steps', async () => {
    const { items, ...rest } = await read(ofRequests)
    expect(rest).toEqual({
      from: '2026-01-01T00:00:00.000Z',
      to: '2026-01-01T01:00:00.000Z',
      isEstimated: false,
    })
    expect(items).toHaveLength(60)
    expect(items[5]).toEqual({ timestamp: '2026-01-01T00:05:00.000Z', count: 60, errors: 1 })
    expect(figures({ items })).toEqual({ counts: [60], errors: 36 })
  })

  test('GET /admin/logs/histogram › marks counts as estimated if the range has more errors than it counts', async () => {
    await app.sql(`insert into basalt.logs (logged_at, level, message, node)
      select '2026-01-02T00:30:00Z', 50, 'many', 'one' from generate_series(1, 100100)`)
    const readDay = async (day: string) =>
      (await app.request('GET', `${ofLogs}?since=${day}T00:00:00Z&until=${day}T01:00:00Z`, { token })).json
    expect((await readDay('2026-01-01')).isEstimated).toBe(false)
    const { isEstimated, items } = await readDay('2026-01-02')
    expect([isEstimated, Object.keys(items[0]).toSorted()]).toEqual([true, ['count', 'errors', 'timestamp']])
    await app.sql("delete from basalt.logs where logged_at >= '2026-01-02'")
  })

  test.each([
    ['method=post', { counts: [6], errors: 36 }, true],
    ['path=/api/1', { counts: [30], errors: 0 }, true],
    ['status=2xx', { counts: [58, 59], errors: 0 }, true],
    ['status=5xx', { counts: [1, 0], errors: 36 }, false],
    ['status=404', { counts: [1, 0], errors: 0 }, false],
    ['status=4xx&method=GET', { counts: [0], errors: 0 }, false],
    [`user_id=${alice}`, { counts: [60, 0], errors: 1 }, false],
    ['request_id=7', { counts: [1, 0], errors: 0 }, false],
  ])(
    'GET /admin/analytics/requests/histogram › counts the requests of %s',
    async (query, expected, isEstimated) => {
      const found = await read(ofRequests, query)
      const { counts, errors } = figures(found)
      expect({ counts: counts.toSorted(), errors, isEstimated: found.isEstimated }).toEqual({
        ...expected,
        counts: expected.counts.toSorted(),
        isEstimated,
      })
    },
  )

  test('GET /admin/logs/histogram › counts at most 20,000 entries of a step', async () => {
    const found = await read(ofLogs)
    expect(found.items.at(-1)).toEqual({ timestamp: '2026-01-01T00:59:00.000Z', count: 20_000, errors: 0 })
    expect(figures(found)).toEqual({ counts: [60, 20_000], errors: 118 })
  })

  test('GET /admin/logs/histogram › counts warnings exactly, and estimates the matches of a text', async () => {
    expect(figures(await read(ofLogs, 'level=warn'))).toEqual({ counts: [4, 0], errors: 118 })
    expect(figures(await read(ofLogs, 'level=error&q=needle'))).toEqual({ counts: [1, 0], errors: 59 })
    const found = await read(ofLogs, 'q=needle')
    expect(found.isEstimated).toBe(true)
    expect(found.items[3]).toEqual({ timestamp: '2026-01-01T00:03:00.000Z', count: 15, errors: 1 })
    expect(found.items.at(-1).count).toBe(5000)
  })

  test('reads a bounded number of rows, whatever the range and the filter', async () => {
    const range = { from: new Date('2026-01-01T00:59:00Z'), to: new Date('2026-01-01T01:00:00Z') }
    const read = async (source: Parameters<typeof countByTime>[1]) => {
      const { database, reads } = explaining(app.app.database.system)
      await countByTime(database, source, range)
      expect(reads.wholeTables).toEqual([])
      return reads.rows
    }
    expect(await read(logSource({ q: 'needle' }))).toBeLessThan(22_000)
    expect(await read(logSource({ level: 'error' }))).toBeLessThan(500)
    expect(await read(requestSource({ status: '5xx' }))).toBeLessThan(500)
    expect(await read(requestSource({ path: '/api/1' }))).toBeLessThan(500)
  })

  test.each(paths)('GET %s › covers the last day unless a range is set', async (path) => {
    const { json } = await app.request('GET', path, { token })
    expect(Date.parse(json.to) - Date.parse(json.from)).toBe(24 * 3_600_000)
    expect(Math.abs(Date.parse(json.to) - Date.now())).toBeLessThan(60_000)
  })

  test.each([
    [`${ofRequests}?from=2999-01-01`, 'invalid_list_parameter', 'from'],
    [`${ofRequests}?from=never`, 'invalid_list_parameter', 'from'],
    [`${ofRequests}?from=2026-02-01&to=2026-01-01`, 'reversed_time_range', 'from'],
    [`${ofRequests}?status=9xx`, 'invalid_list_parameter', 'status'],
    [`${ofRequests}?user_id=x`, 'invalid_list_parameter', 'user_id'],
    [`${ofRequests}?limit=1`, 'unknown_parameter', 'limit'],
    [`${ofLogs}?since=2999-01-01`, 'invalid_list_parameter', 'since'],
    [`${ofLogs}?level=loud`, 'invalid_list_parameter', 'level'],
  ])('GET %s › returns 400 that names the parameter', async (path, error, name) => {
    const response = await app.request('GET', path, { token })
    expect(response.status).toBe(400)
    expect(envelope(response)).toMatchObject({ error, message: expect.stringContaining(name) })
  })

  test.each(paths)('GET %s › is for administrators', async (path) => {
    for (const wrong of [undefined, 'x', userToken({ sub: alice })]) {
      expect((await app.request('GET', path, { token: wrong })).status).toBe(401)
    }
  })

  test.each(paths)('GET %s › returns the same ten times at once', async (path) => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => read(path)))
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
  })
})
