import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, notes } from '../../../../../test/fixtures.ts'
import {
  createTestApp,
  envelope,
  type TestApp,
  type TestResponse,
  userToken,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

interface Entry {
  readonly time: string
  readonly level: string
  readonly message: string
  readonly attrs: Record<string, unknown>
  readonly node: string
  readonly requestId: string | null
}

/** SQL that inserts entries of two nodes at fixed times. */
const written = `
insert into basalt.logs (logged_at, level, message, attrs, node, request_id) values
  ('2026-01-01T10:00:00Z', 30, 'stopping', '{"signal":"SIGTERM"}', 'one/1', null),
  ('2026-01-01T11:00:00Z', 40, 'request failed', '{"reason":"Disk FULL 100%"}', 'two/2', 'request-0001'),
  ('2026-01-01T11:00:00Z', 50, 'failed to look for jobs', '{}', 'two/2', null),
  ('2026-01-02T12:00:00Z', 20, 'detail', '{}', 'one/1', 'request-0002');
insert into basalt.logs (logged_at, level, message, node)
select '2026-02-01T00:00:00Z', 30, 'at once ' || n, 'one/1' from generate_series(1, 12) n`

describe('logs', () => {
  let app: TestApp
  let token: string

  beforeAll(async () => {
    app = await createTestApp({ setup: notes + written })
    token = await app.adminToken()
  })
  afterAll(() => app[Symbol.asyncDispose]())

  const get = (query: string, path = '/api/admin/logs') => app.request('GET', `${path}?${query}`, { token })
  const messages = (response: TestResponse) => response.json.entries.map(({ message }: Entry) => message)
  const january = 'since=2026-01-01&until=2026-01-31'

  test('list › returns entries of all nodes, the newest first', async () => {
    const { json } = await get(january)
    expect(json.entries[0]).toEqual({
      time: '2026-01-02T12:00:00.000Z',
      level: 'debug',
      message: 'detail',
      attrs: {},
      node: 'one/1',
      requestId: 'request-0002',
    })
    expect(json.entries.map(({ node }: Entry) => node)).toEqual(['one/1', 'two/2', 'two/2', 'one/1'])
    expect(json.nextCursor).toBeUndefined()
  })

  test('list › searches for a text in a bounded number of entries, and returns where it stopped', async () => {
    await app.sql(`
      insert into basalt.logs (logged_at, level, message, node)
      select '2025-01-01T00:00:00Z'::timestamptz + make_interval(secs => n), 30,
        case n when 1 then 'Needle' else 'hay' end, 'one/1'
      from generate_series(1, 20002) n`)
    const range = 'q=needle&since=2025-01-01&until=2025-01-02'
    const first = await get(range)
    expect(first.json).toMatchObject({ entries: [], searchedTo: '2025-01-01T00:00:03.000Z' })
    const second = await get(`${range}&cursor=${first.json.nextCursor}`)
    expect(messages(second)).toEqual(['Needle'])
    expect([second.json.searchedTo, second.json.nextCursor]).toEqual([undefined, undefined])
    await app.sql(`delete from basalt.logs where logged_at < '2025-01-02'`)
  })

  test('requests › searches a bounded number by filters without an index, and returns where it stopped', async () => {
    await app.sql(`
      insert into basalt.requests (happened_at, method, path, status, duration_ms, user_id, app_id, request_size,
        response_size, request_id, node)
      select '2025-01-01T00:00:00Z'::timestamptz + make_interval(secs => n), 'GET',
        case n when 1 then '/api/needle' else '/api/hay' end, case n when 1 then 503 else 200 end, 1,
        case n when 1 then '${alice}' end, '00000000-0000-0000-0000-000000000000', 1, 1, 'old-' || n, 'one/1'
      from generate_series(1, 20002) n`)
    const list = async (filter: string) =>
      (await get(`from=2025-01-01&${filter}`, '/api/admin/analytics/requests')).json
    const first = await list('to=2025-01-02&path=/api/needle')
    expect(first).toMatchObject({ items: [], searchedTo: '2025-01-01T00:00:03.000Z' })
    const second = await list(`to=${first.searchedTo}&path=/api/needle`)
    expect(second).toMatchObject({ items: [{ request_id: 'old-1' }] })
    expect(second.searchedTo).toBeUndefined()
    for (const filter of [`user_id=${alice}`, 'status=503', 'status=5xx', `user_id=${alice}&path=*needle`]) {
      const found = await list(`to=2025-01-02&${filter}`)
      expect(found, filter).toMatchObject({ items: [{ request_id: 'old-1' }] })
      expect(found.searchedTo).toBeUndefined()
    }
    await app.sql(`delete from basalt.requests where happened_at < '2025-01-02'`)
  })

  test.each([
    ['level=warn', ['failed to look for jobs', 'request failed']],
    ['level=fatal', []],
    ['q=disk+full', ['request failed']],
    ['q=100%25', ['request failed']],
    ['q=SIGTERM', ['stopping']],
    ['q=_', []],
    ['requestId=request-0002', ['detail']],
    ['requestId=request-0001&level=error', []],
  ])('list › filters by %s', async (query, expected) => {
    expect(messages(await get(`${january}&${query}`))).toEqual(expected)
  })

  test.each([
    ['since=2026-01-01T11:00:00Z&until=2026-01-01T11:00:00Z', 2],
    ['since=2026-01-01&until=2026-01-01', 3],
    ['since=2026-01-02&until=2026-01-02T12:00:00%2B00:00', 1],
    ['until=2025-12-31', 0],
  ])('list › returns the entries of %s', async (query, count) => {
    expect((await get(query)).json.entries).toHaveLength(count)
  })

  test('list › pages by cursor, through entries of the same moment', async () => {
    const pagesOf = async (query: string) => {
      const found: string[] = []
      for (let cursor = ''; ; ) {
        const page = await get(`${query}${cursor}`)
        found.push(...messages(page))
        if (page.json.nextCursor === undefined) return found
        cursor = `&cursor=${page.json.nextCursor}`
      }
    }
    const ofJanuary = ['detail', 'failed to look for jobs', 'request failed', 'stopping']
    expect(await pagesOf(`${january}&limit=1`)).toEqual(ofJanuary)
    expect(await pagesOf('since=2026-02-01&until=2026-02-01&limit=5')).toEqual(
      Array.from({ length: 12 }, (_, index) => `at once ${12 - index}`),
    )
  })

  test.each([
    ['level=loud', 'invalid level; must be one of: trace, debug, info, warn, error, fatal'],
    ['since=yesterday', 'invalid since filter; expected RFC3339 or YYYY-MM-DD'],
    ['until=2026-02-30', 'invalid until filter; expected RFC3339 or YYYY-MM-DD'],
    ['since=2026-01-02&until=2026-01-01', 'until filter must be greater than or equal to since filter'],
    ['limit=0', 'invalid limit'],
    ['limit=1.5', 'invalid limit'],
    ['cursor=x', 'invalid cursor'],
  ])('list › returns 400 for %s', async (query, message) => {
    const response = await get(query)
    expect([response.status, response.json.message]).toEqual([400, message])
  })

  test('stores the entries of a node, with the request and without secrets', async () => {
    await app.sql('alter table basalt.administrators rename to hidden')
    const failed = await app.request('POST', '/api/admin/auth', {
      body: { password: 'never-to-be-seen' },
      headers: { 'x-request-id': 'sign-in-that-failed' },
    })
    await app.sql('alter table basalt.hidden rename to administrators')
    expect(failed.status).toBe(500)
    const entries = await waitFor('the entry', async () => {
      const { json } = await get('requestId=sign-in-that-failed')
      return json.entries.length === 2 && (json.entries as Entry[])
    })
    const failure = entries.find(({ message }) => message === 'request failed')
    expect(failure).toMatchObject({ level: 'error', requestId: 'sign-in-that-failed' })
    expect(failure?.attrs.operation).toBe('admin.signIn')
    const request = entries.find(({ message }) => message === 'request')
    expect(request?.attrs).toMatchObject({ method: 'POST', path: '/api/admin/auth', status: 500 })
    expect(JSON.stringify(await app.sql('select * from basalt.logs, basalt.requests'))).not.toContain(
      'never-to-be-seen',
    )
  })

  test('requests › lists caller, status and size, without queries', async () => {
    const userId = alice
    const path = '/api/collections/note'
    const sent = await app.request('GET', `${path}?filter=body='s3cret'`, {
      token: userToken({ sub: userId }),
      headers: { 'x-request-id': 'list-of-notes' },
    })
    expect(sent.status).toBe(200)
    const find = async (query: string) =>
      (await get(query, '/api/admin/analytics/requests')).json as { items: unknown[]; count: number }
    await waitFor('the request', async () => (await find('request_id=list-of-notes')).count === 1)
    const answer = await find(
      `request_id=list-of-notes&method=get&path=/api/*/note&status=200&user_id=${userId}`,
    )
    expect(answer).toEqual({
      items: [
        {
          id: expect.any(String),
          timestamp: expect.any(String),
          method: 'GET',
          path,
          operation: 'collections.list',
          status_code: 200,
          duration_ms: expect.any(Number),
          user_id: userId,
          api_key_id: null,
          app_id: '00000000-0000-0000-0000-000000000000',
          request_size: expect.any(Number),
          response_size: expect.any(Number),
          impersonated_by: null,
          ip_address: '127.0.0.1',
          request_id: 'list-of-notes',
          node: expect.stringMatching(/\/\d+$/),
        },
      ],
      count: 1,
      limit: 100,
      offset: 0,
    })
    for (const other of [
      'status=404',
      'method=POST',
      'path=/api/note',
      'path=%25',
      'to=2026-01-01',
      `user_id=${userId.replace('a', 'b')}`,
    ])
      expect((await find(`request_id=list-of-notes&${other}`)).count).toBe(0)
    expect(JSON.stringify(await app.sql('select * from basalt.requests'))).not.toContain('s3cret')
  })

  test.each([
    ['status=99', 'invalid status filter; expected an HTTP status'],
    ['user_id=x', 'invalid user_id filter; must be a UUID'],
    ['offset=x', 'invalid offset'],
    ['from=x', 'invalid from filter; expected RFC3339 or YYYY-MM-DD'],
  ])('requests › returns 400 for %s', async (query, message) => {
    const response = await get(query, '/api/admin/analytics/requests')
    expect([response.status, response.json.message]).toEqual([400, message])
  })

  describe('logs › latency', () => {
    const latencyPath = '/api/admin/analytics/latency'
    const app1 = '00000000-0000-0000-0000-000000000001'
    beforeAll(() =>
      app.sql(
        `
        insert into basalt.requests (id, happened_at, method, path, operation, status, duration_ms, app_id, request_size,
          response_size, request_id, node) overriding system value
        select 9950 + n, '2026-03-01T10:00:30Z', 'GET', '/x', 'x.list', case when n > 95 then 500 else 200 end, n, $1::uuid, 1, 2,
          'latency-' || n, 'one/1'
        from generate_series(1, 100) n`,
        [app1],
      ),
    )
    const steps = async (query: string) => (await get(query, latencyPath)).json

    test('returns requests, errors, bytes and percentiles accurate to 5 %, including empty steps', async () => {
      const { step, items } = await steps('from=2026-03-01T09:59:00Z&to=2026-03-01T10:02:00Z')
      expect(step).toBe('minute')
      const empty = { requests: 0, errors: 0, bytes: 0, p50_ms: null, p95_ms: null, p99_ms: null }
      expect(items.slice(0, 1)).toEqual([{ timestamp: '2026-03-01T09:59:00.000Z', ...empty }])
      expect(items[1]).toMatchObject({
        timestamp: '2026-03-01T10:00:00.000Z',
        requests: 100,
        errors: 5,
        bytes: 300,
      })
      for (const [name, exact] of [
        ['p50_ms', 50],
        ['p95_ms', 95],
        ['p99_ms', 99],
      ] as const) {
        expect([name, Math.abs(items[1][name] - exact) / exact < 0.055]).toEqual([name, true])
      }
      expect(items).toHaveLength(4)
    })

    test('filters by operation and app', async () => {
      const day = 'from=2026-03-01&to=2026-03-01&step=day'
      const requests = async (filter: string) => (await steps(`${day}&${filter}`)).items[0].requests
      expect(await requests('operation=x.list')).toBe(100)
      expect(await requests('operation=x.get')).toBe(0)
      expect(await requests(`app_id=${app1}`)).toBe(100)
      expect(await requests(`app_id=${alice}`)).toBe(0)
    })

    test('covers the last hour by default', async () => {
      expect((await steps('')).items.length).toBeGreaterThanOrEqual(60)
      expect((await steps('')).items.length).toBeLessThanOrEqual(62)
    })

    test.each([
      ['step=week', 'invalid step; must be one of: minute, hour, day'],
      ['from=2026-01-01&to=2026-03-01', 'invalid from filter; at most 1500 steps of a minute before `to`'],
      ['from=2999-01-01', 'invalid from filter; must not be in the future'],
      ['from=x', 'invalid from filter; expected RFC3339 or YYYY-MM-DD'],
      ['app_id=x', 'invalid app_id filter; must be a UUID'],
    ])('rejects %s', async (query, message) => {
      const response = await get(query, latencyPath)
      expect([response.status, envelope(response).message]).toEqual([400, message])
    })

    test('requests › lists those of the same moment in the order they were written', async () => {
      const { items } = (await get('from=2026-03-01&to=2026-03-01', '/api/admin/analytics/requests')).json
      expect(items.map(({ request_id }: { request_id: string }) => request_id)).toEqual(
        Array.from({ length: 100 }, (_, index) => `latency-${100 - index}`),
      )
    })

    test('requests › filters by class of status and by duration', async () => {
      const ids = async (query: string) =>
        (await get(`from=2026-03-01&to=2026-03-01&${query}`, '/api/admin/analytics/requests')).json.count
      expect(await ids('status=5xx')).toBe(5)
      expect(await ids('status=2xx')).toBe(95)
      expect(await ids('status=500')).toBe(5)
      expect(await ids('min_duration_ms=90.5')).toBe(10)
      for (const [query, message] of [
        ['status=xx5', 'invalid status filter; expected an HTTP status'],
        ['min_duration_ms=-1', 'invalid min_duration_ms filter; expected a number of milliseconds'],
      ] as const) {
        const refused = await get(query, '/api/admin/analytics/requests')
        expect([refused.status, envelope(refused).message]).toEqual([400, message])
      }
    })
  })

  test('queries › returns 503 without pg_stat_statements', async () => {
    const response = await get('', '/api/admin/analytics/queries')
    expect(response.status).toBe(503)
    expect(envelope(response).error).toBe('query_statistics_unavailable')
    expect((await get('sort=x', '/api/admin/analytics/queries')).status).toBe(400)
  })

  test('queries › returns those of the statistics view, the longest first', async () => {
    await using other = await createTestApp()
    // The required part of the extension's objects.
    await other.sql(`
      create schema stats;
      create table stats.pg_stat_statements as
        select *, 5::bigint as rows, 3::bigint as shared_blks_hit, 1::bigint as shared_blks_read,
          (select oid from pg_database where datname = current_database()) as dbid
        from (values (1, 'select 1', 10::bigint, 100.0::float8, 10.0::float8),
          (2, 'select 2', 20, 50.0, 2.5),
          (3, 'copy basalt.requests (path) from stdin', 9, 9000.0, 1000.0)) as s (queryid, query, calls, total_exec_time, mean_exec_time);
      insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      values (99999, 'pg_stat_statements', 10, 'stats'::regnamespace, true, '1.10')`)
    const list = async (query: string) =>
      (
        await other.request('GET', `/api/admin/analytics/queries?${query}`, {
          token: await other.adminToken(),
        })
      ).json
    expect(await list('')).toMatchObject({ count: 2, index_suggestions: [] })
    expect((await list('sort=calls&limit=1')).items).toEqual([
      {
        query: 'select 2',
        calls: 20,
        total_time_ms: 50,
        mean_time_ms: 2.5,
        rows: 5,
        cache_hit_ratio: 0.75,
      },
    ])
  })

  test('stats › returns the state of the node', async () => {
    const { json } = await get('', '/api/admin/stats')
    expect(json).toMatchObject({ node_version: process.version, db_pool_max: expect.any(Number) })
    expect(json.memory_sys).toBeGreaterThan(json.memory_alloc)
    expect(json.db_pool_total).toBe(json.db_pool_idle + json.db_pool_in_use)
  })

  test('retention › deletes entries that are older than the schedule says', async () => {
    for (const type of ['log_retention', 'request_log_retention'])
      await app.request('POST', '/api/admin/jobs', { token, body: { type } })
    await waitFor('the clean-up', async () => (await get(january)).json.entries.length === 0)
    const { json } = await app.request('GET', '/api/admin/schedules', { token })
    const names = json.items.map(({ name }: { name: string }) => name)
    expect(names).toEqual(
      expect.arrayContaining(['log_retention_daily', 'request_log_retention_daily', 'usage_retention_daily']),
    )
  })
})

describe('logs › tail', () => {
  test('sends entries of every node as they are written, filtered, and resumes without loss', async () => {
    await using first = await createTestApp()
    await using second = await createTestApp({ database: first.database })
    const token = await first.adminToken()
    const log = (app: TestApp, level: number, message: string) =>
      app.sql(
        `insert into basalt.logs (logged_at, level, message, node) values (clock_timestamp(), $1, $2, 'x')`,
        [level, message],
      )
    const tail = await openTail(second, token, 'level=warn')
    await waitFor('the tail', () => tail.text().includes('event: ready'))
    await log(first, 30, 'too quiet')
    await log(first, 40, 'first warning')
    await waitFor('the entry', () => tail.text().includes('first warning'))
    expect(tail.text()).not.toContain('too quiet')
    const id = [...tail.text().matchAll(/^id: (\S+)$/gm)].at(-1)?.[1]
    await tail.close()
    await second.sql(`
      insert into basalt.logs (logged_at, level, message, node)
      select now(), 50, 'missed ' || n || '.', 'x' from generate_series(1, 12) n`)
    const resumed = await openTail(first, token, 'level=warn', { 'last-event-id': id ?? '' })
    await waitFor('the missed entries', () => resumed.text().includes('missed 12.'))
    expect(resumed.text().match(/missed \d+/g)).toEqual(
      Array.from({ length: 12 }, (_, index) => `missed ${index + 1}`),
    )
    expect(resumed.text()).not.toContain('first warning')
    await resumed.close()
  })

  test('ends when the server stops', async () => {
    await using app = await createTestApp()
    const tail = await openTail(app, await app.adminToken(), '')
    await waitFor('the tail', () => tail.text().includes('event: ready'))
    await app.app.close()
    await tail.ended
  })
})

describe('logs › an unavailable database', () => {
  test('delays no request, and bounds and counts the waiting entries', async () => {
    await using app = await createTestApp()
    await app.sql('alter table basalt.requests rename to requests_hidden')
    const sent = await Promise.all(Array.from({ length: 50 }, () => app.request('GET', '/health')))
    expect(sent.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200))
    await waitFor('the warning', () => app.log.some((line) => line.includes('failed to store the requests')))
    await app.sql('alter table basalt.requests_hidden rename to requests')
    const stored = async () =>
      (await app.sql(`select count(*)::int as n from basalt.requests where path = '/health'`))[0]?.n
    await waitFor('the requests', async () => (await stored()) === 50)
    expect((await app.request('GET', '/metrics')).text).toContain(
      'basalt_dropped_entries_total{queue="requests"} 0',
    )
  })
})

test('logs › requests are stored once when the connection breaks while they are written', async () => {
  await using app = await createTestApp()
  let sent = 0
  let isLoading = false
  const load = async () => {
    isLoading = true
    await Promise.all(Array.from({ length: 500 }, () => app.request('GET', '/health')))
    isLoading = false
    sent += 500
  }
  const cut = () =>
    app.sql(`
      select from pg_stat_activity
      where datname = current_database() and state = 'active' and query like 'copy basalt.requests%'
        and pg_terminate_backend(pid)`)
  let isCut = false
  const deadline = performance.now() + 60_000
  while (!isCut && performance.now() < deadline) {
    const loaded = load()
    while (isLoading && !isCut) isCut = (await cut()).length > 0
    await loaded
  }
  expect(isCut).toBe(true)
  const stored = () =>
    app.sql(`
      select count(*)::int as requests, count(distinct request_id)::int as ids
      from basalt.requests where path = '/health'`)
  await waitFor('the requests', async () => ((await stored())[0]?.requests ?? 0) >= sent)
  await load()
  await waitFor('the requests after them', async () => ((await stored())[0]?.requests ?? 0) >= sent)
  expect(await stored()).toEqual([{ requests: sent, ids: sent }])
})

async function openTail(
  app: TestApp,
  token: string,
  query: string,
  headers: Readonly<Record<string, string>> = {},
) {
  const stop = new AbortController()
  const response = await fetch(`${app.url}/api/admin/logs/tail?${query}`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
    signal: stop.signal,
  })
  let text = ''
  const ended = (async () => {
    const decoder = new TextDecoder()
    try {
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk as Uint8Array)
    } catch {
      // The request was aborted.
    }
  })()
  return {
    text: () => text,
    ended,
    async close() {
      stop.abort()
      await ended
    },
  }
}
