import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, notes } from '../../../../../test/fixtures.ts'
import { inlineParts, policyOf } from '../../../../../test/page.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

const setup = `
${notes}
create table open_to_all (id int primary key);
insert into open_to_all select generate_series(1, 250);
create table internal (id int);
revoke all on internal from basalt_authenticated;
create view names as select id from open_to_all;
create table reading (day date) partition by range (day);
create table reading_2026 partition of reading for values from ('2026-01-01') to ('2027-01-01');
create view reading_9 as select * from reading;
insert into reading select '2026-01-01'::date + each from generate_series(0, 99) each;
analyze open_to_all, reading_2026;
`

let app: TestApp

beforeAll(async () => {
  app = await createTestApp({ setup, config: { 'database.expose_partitions': 'true' } })
})
afterAll(() => app[Symbol.asyncDispose]())

describe('GET /', () => {
  test.each([
    'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    '*/*',
    'TEXT/HTML;q=0.1, application/json',
  ])('returns a page to a client that accepts %s', async (accept) => {
    const response = await app.request('GET', '/', { headers: { accept } })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(response.headers.get('vary')).toContain('Accept')
  })

  test.each(['application/json', 'application/json, */*', 'image/png'])(
    'returns 404 as an error object to a client that accepts %s',
    async (accept) => {
      const response = await app.request('GET', '/', { headers: { accept } })
      expect([response.status, envelope(response).error]).toEqual([404, 'route_not_found'])
    },
  )

  test('describes the server and names no table', async () => {
    const { text } = await app.request('GET', '/')
    expect(text).toMatch(/Version \d+\.\d+\.\d+/)
    expect(text).not.toMatch(/open_to_all|reading|internal/)
    for (const [, link = ''] of text.matchAll(/href="(\/[^"]*)"/g)) {
      // Without a built site, its addresses redirect to the plain pages.
      expect([link, (await fetch(app.url + link)).status]).toEqual([link, 200])
    }
  })

  test('loads nothing from other origins', async () => {
    const response = await app.request('GET', '/')
    const [script] = inlineParts(response.text, 'script')
    expect(policyOf(response)).toMatchObject({ 'default-src': "'none'", 'script-src': script?.source })
    expect(response.text).not.toMatch(/ (style|on\w+)=|(src|href)="(https?:)?\/\//)
  })

  test('warns when authentication is off', async () => {
    await using open = await createTestApp({ config: { 'auth.enabled': 'false' } })
    expect((await open.request('GET', '/')).text).toContain('Authentication is off')
    expect((await app.request('GET', '/')).text).not.toContain('Authentication is off')
  })
})

describe('GET /favicon.ico', () => {
  test('returns an icon, as the SVG path does', async () => {
    const icon = await fetch(`${app.url}/favicon.ico`)
    expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/x-icon'])
    const bytes = Buffer.from(await icon.arrayBuffer())
    // It contains one picture, a PNG after the directory.
    expect([...bytes.subarray(0, 6)]).toEqual([0, 0, 1, 0, 1, 0])
    expect(bytes.length).toBe(22 + bytes.readUInt32LE(14))
    expect(bytes.subarray(23, 26).toString()).toBe('PNG')
    const svg = await app.request('GET', '/favicon.svg')
    expect([svg.headers.get('content-type'), svg.text.startsWith('<svg xmlns=')]).toEqual([
      'image/svg+xml',
      true,
    ])
  })
})

describe('GET /api/admin/tables', () => {
  test('lists served tables with their size and readers', async () => {
    const { status, json } = await app.request('GET', '/api/admin/tables', { token: await app.adminToken() })
    expect([status, json.count]).toEqual([200, json.items.length])
    const items = Object.fromEntries(
      json.items.map(({ collection, ...rest }: { collection: string }) => [collection, rest]),
    )
    expect(items).toMatchObject({
      note: {
        schema: 'public',
        name: 'note',
        kind: 'table',
        rlsEnabled: true,
        policies: expect.any(Number),
        isReadable: true,
      },
      open_to_all: { kind: 'table', estimatedRows: 250, rlsEnabled: false, policies: 0, isReadable: true },
      internal: { isReadable: false },
      names: { kind: 'view', estimatedRows: null },
      reading: { kind: 'partitioned_table', estimatedRows: 100 },
      reading_2026: { kind: 'table', estimatedRows: 100 },
    })
  })

  test('lists the matches of a search, up to the limit', async () => {
    const read = async (query: string) =>
      (await app.request('GET', `/api/admin/tables?${query}`, { token: await app.adminToken() })).json
    const { items, count } = await read('search=NA&limit=1')
    expect([items.map(({ collection }: { collection: string }) => collection), count]).toEqual([['names'], 2])
    expect(await read('search=nothing')).toEqual({ items: [], count: 0 })
    const named = async (query: string) =>
      (await read(query)).items.map(({ collection }: { collection: string }) => collection)
    expect(await named('search=_2026%20READ')).toEqual(['reading_2026'])
    expect(await named('search=e&limit=2')).toEqual(['internal', 'names'])
    expect(await named('search=reading')).toEqual(['reading', 'reading_9', 'reading_2026'])
  })

  test('estimates a table that was never analyzed by its written rows', async () => {
    await app.sql('create table fresh as select generate_series(1, 40) as id')
    const token = await app.adminToken()
    const estimate = async () => {
      const { items } = (await app.request('GET', '/api/admin/tables', { token })).json
      return items.find(({ collection }: { collection: string }) => collection === 'fresh')?.estimatedRows
    }
    await expect.poll(estimate).toBe(40)
  })

  test.each([
    ['without a token', undefined],
    ['with a token of a user', userToken({ sub: alice })],
    ['with a bad token', 'x'],
  ])('returns 401 %s', async (_which, token) => {
    const response = await app.request('GET', '/api/admin/tables', { token })
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([
      401,
      token === undefined ? 'Bearer' : 'Bearer error="invalid_token"',
    ])
    expect(response.text).not.toContain('open_to_all')
  })

  test('is open to all callers while auth.enabled is false', async () => {
    await using open = await createTestApp({ setup: notes, config: { 'auth.enabled': 'false' } })
    expect((await open.request('GET', '/api/admin/tables')).json.count).toBe(1)
  })
})

describe('GET /api/admin/server', () => {
  test('describes the server and its database', async () => {
    const { status, json } = await app.request('GET', '/api/admin/server', { token: await app.adminToken() })
    const [row] = await app.sql(
      `select current_database() as name, current_setting('server_version') as version,
        current_setting('max_connections')::int as most`,
    )
    expect([status, json]).toEqual([
      200,
      {
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        isAuthRequired: true,
        database: {
          name: row?.name,
          version: row?.version,
          isEmbedded: false,
          sizeBytes: expect.any(Number),
          startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          connections: expect.any(Number),
          maxConnections: row?.most,
        },
      },
    ])
    expect(json.database.sizeBytes).toBeGreaterThan(1_000_000)
    expect(json.database.connections).toBeGreaterThan(0)
  })
})

describe('GET /api/admin/configuration', () => {
  test('lists every key, and only for a secret that it is set', async () => {
    await using configured = await createTestApp({
      config: { 'metrics.token': 'token-of-metrics-000', 'api.export_max_rows': '17' },
    })
    const token = await configured.adminToken()
    const { status, json, text } = await configured.request('GET', '/api/admin/configuration', { token })
    expect([status, json.count]).toEqual([200, json.items.length])
    const find = (key: string) => json.items.find((item: { key: string }) => item.key === key)
    expect(find('api.export_max_rows')).toEqual({
      key: 'api.export_max_rows',
      value: 17,
      isSecret: false,
      isDefault: false,
      env: 'BASALT_API_EXPORT_MAX_ROWS',
      description: 'Maximum number of rows of an export.',
    })
    expect(find('metrics.token')).toMatchObject({ value: null, isSecret: true, isDefault: false })
    expect(find('push.enabled')).toMatchObject({ isDefault: true })
    expect(text).not.toContain('token-of-metrics-000')
  })

  test("returns 401 for a user's token", async () => {
    for (const path of ['/api/admin/configuration', '/api/admin/server']) {
      const response = await app.request('GET', path, { token: userToken({ sub: alice }) })
      expect([path, response.status, envelope(response)]).toEqual([
        path,
        401,
        expect.objectContaining({ error: 'admin_required' }),
      ])
    }
  })
})
