import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openEventStream } from '../../../../../test/event-stream.ts'
import { alice, notes } from '../../../../../test/fixtures.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type RequestOptions,
  type TestApp,
  type TestDatabase,
  type TestResponse,
  userToken,
} from '../../../../../test/test-app.ts'
import { testAdminPassword } from '../../../../../test/test-config.ts'

let database: TestDatabase
let first: TestApp
let second: TestApp

beforeAll(async () => {
  database = await createTestDatabase()
  await database.sql(`${notes}; grant select on note to basalt_anonymous`)
  await database.sql('insert into note (owner_id, body) values ($1, $2)', [alice, 'hers'])
  const config = {
    ...{
      'server.trusted_proxies': '127.0.0.1',
      'logging.requests': 'all',
      'logging.dashboard_reads': 'true',
    },
  }
  first = await createTestApp({ database, config: { ...config, 'logging.level': 'info' } })
  second = await createTestApp({ database, config })
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await first[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

let addresses = 0
function newAddress(): string {
  addresses += 1
  return `198.51.100.${addresses}`
}

const safari =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0.1 Safari/605.1.15'
const path = '/api/admin/session'
const ofDashboard = { 'x-basalt-dashboard': '1' }

function signIn(body: unknown, headers: Record<string, string> = {}, node = first): Promise<TestResponse> {
  return node.request('POST', path, { body, headers: { 'x-forwarded-for': newAddress(), ...headers } })
}

/** Returns name, value and attributes of the cookies that a response sets. */
function cookiesOf({ headers }: TestResponse) {
  return headers.getSetCookie().map((line) => {
    const [pair = '', ...attributes] = line.split('; ')
    const [name = '', value = ''] = pair.split('=')
    return { name, value, attributes: attributes.sort() }
  })
}

/** Returns the `Cookie` header of a new session. */
async function newSession(node = first): Promise<string> {
  const response = await signIn({ password: testAdminPassword }, {}, node)
  expect(response.status).toBe(200)
  const [{ name, value } = { name: '', value: '' }] = cookiesOf(response)
  return `${name}=${value}`
}

/** Sends a request of the dashboard, as a browser does. */
function send(node: TestApp, method: string, target: string, cookie: string, options: RequestOptions = {}) {
  const origin = method === 'GET' ? {} : { origin: node.url }
  const headers = { cookie, ...ofDashboard, ...origin, 'sec-fetch-site': 'same-origin', ...options.headers }
  return node.request(method, target, { ...options, headers })
}

const notCounted = {
  code: 403,
  message: 'a session in a cookie needs the header x-basalt-dashboard: 1',
  error: 'dashboard_header_required',
}
const crossSite = {
  code: 403,
  message: 'a session in a cookie is for pages of this server: Origin must be its own',
  error: 'cross_site_request',
}
const adminRequired = { code: 401, message: 'admin authentication required', error: 'admin_required' }

describe('POST /api/admin/session', () => {
  test('sets a cookie that no script reads and returns the end of the session, not the token', async () => {
    const before = Date.now()
    const response = await signIn({ password: testAdminPassword })
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(response.json).toEqual({ expiresAt: expect.stringMatching(/^\d{4}-.*Z$/) })
    const hours = (Date.parse(response.json.expiresAt) - before) / 3_600_000
    expect([hours > 1.9, hours < 2.1]).toEqual([true, true])
    expect(cookiesOf(response)).toEqual([
      {
        name: '__Host-basalt-admin',
        value: expect.stringMatching(/^basalt_admin_\w{49}$/),
        attributes: ['HttpOnly', 'Path=/', 'SameSite=Strict', 'Secure'],
      },
    ])
  })

  test.each([
    ['is not Secure over HTTP to another machine', { host: 'db.example:8090' }, 'basalt-admin'],
    [
      'is Secure over HTTPS behind a proxy',
      { host: 'db.example', 'x-forwarded-proto': 'https' },
      '__Host-basalt-admin',
    ],
    [
      'is Secure where the page reports HTTPS and the proxy nothing',
      { host: 'db.example', origin: 'https://db.example' },
      '__Host-basalt-admin',
    ],
    ['is Secure on a loopback address, whatever its name', { host: '[::1]:8090' }, '__Host-basalt-admin'],
    [
      'is not Secure on a loopback address for Safari',
      { host: 'localhost:8090', 'user-agent': safari },
      'basalt-admin',
    ],
    [
      'is Secure over HTTPS for Safari too',
      { host: 'db.example', 'x-forwarded-proto': 'https', 'user-agent': safari },
      '__Host-basalt-admin',
    ],
    [
      'is Secure on a loopback address for a browser that names Safari',
      { host: 'localhost:8090', 'user-agent': safari.replace('Version/18.0.1', 'Chrome/141.0.0.0') },
      '__Host-basalt-admin',
    ],
  ])('sets a cookie that %s', async (_what, headers, name) => {
    const answer = await raw(first, 'POST', path, headers, { password: testAdminPassword })
    expect(answer.status).toBe(200)
    const [cookie = ''] = answer.setCookie
    expect(cookie.split('=')[0]).toBe(name)
    expect(cookie.includes('; Secure')).toBe(name.startsWith('__Host-'))
  })

  test.each([
    ['a wrong password', { password: 'wrong' }, 401, 'invalid password'],
    ['a wrong code', { code: 'basalt_signin_wrong' }, 401, 'invalid or expired sign-in code'],
    ['neither', {}, 400, 'password is required'],
    ['a number', { password: 1 }, 400, 'password: must be string'],
    [
      'a code that is too long',
      { code: 'x'.repeat(201) },
      400,
      'code: must not have more than 200 characters',
    ],
  ])('rejects %s and sets nothing', async (_what, body, status, message) => {
    const response = await signIn(body)
    expect([response.status, envelope(response).message]).toEqual([status, message])
    expect(response.headers.getSetCookie()).toEqual([])
  })

  test('signs in once by the code of a link', async () => {
    await using own = await createTestApp({ config: { 'admin.password': '' } })
    const { code } = own.app.firstSignIn ?? {}
    const statuses = await Promise.all(
      Array.from({ length: 5 }, async () => (await signIn({ code }, {}, own)).status),
    )
    expect(statuses.sort()).toEqual([200, 401, 401, 401, 401])
  })

  test('counts wrong passwords together with those of POST /api/admin/auth', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const route = attempt % 2 === 0 ? path : '/api/admin/auth'
      const response = await second.request('POST', route, { body: { password: 'wrong' }, headers })
      expect(response.status).toBe(401)
    }
    const response = await signIn({ password: testAdminPassword }, headers)
    expect([response.status, response.json.error]).toEqual([429, 'too_many_requests'])
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(800)
  })

  test.each([
    ['another origin', { origin: 'https://evil.example' }],
    ['an opaque origin', { origin: 'null' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a neighbour on the site', { 'sec-fetch-site': 'same-site' }],
  ])('rejects a page of %s', async (_what, headers) => {
    const response = await signIn({ password: testAdminPassword }, headers)
    expect([response.status, envelope(response)]).toEqual([403, crossSite])
  })

  test("ends the browser's previous session", async () => {
    const cookie = await newSession()
    const response = await signIn({ password: testAdminPassword }, { cookie, origin: first.url })
    expect(response.status).toBe(200)
    await expect.poll(async () => (await send(first, 'GET', path, cookie)).status).toBe(401)
  })

  test('writes an audit row, and neither cookie nor password to the log', async () => {
    await database.sql('delete from basalt.audit')
    const cookie = await newSession()
    await send(first, 'GET', '/api/admin/tables', cookie)
    await send(first, 'DELETE', path, cookie)
    expect(await database.sql('select actor, action from basalt.audit order by id')).toEqual([
      { actor: 'admin', action: 'admin.sign_in' },
      { actor: 'admin', action: 'admin.sign_out' },
    ])
    expect(first.log.join()).toContain('/api/admin/tables')
    expect(first.log.join()).not.toMatch(/basalt_admin_|horse/)
  })
})

describe('admin session in a cookie', () => {
  test('grants administration and data without policies, on every node', async () => {
    const cookie = await newSession()
    for (const node of [first, second]) {
      expect((await send(node, 'GET', '/api/admin/tables', cookie)).status).toBe(200)
      const data = await send(node, 'GET', '/api/collections/note', cookie)
      expect([data.status, data.json.items.length]).toEqual([200, 1])
      const session = await send(node, 'GET', path, cookie)
      expect([session.status, session.json]).toMatchObject([200, { email: null, role: 'owner' }])
      const renamed = await send(node, 'PATCH', '/api/collections/note/1', cookie, {
        body: { body: node.url },
      })
      expect([renamed.status, renamed.json.body]).toEqual([200, node.url])
      const document = await send(node, 'GET', '/api/openapi.json', cookie)
      expect(document.json.paths).toHaveProperty('/api/collections/note')
    }
  })

  test('opens a stream of the administrator, which ends with it, but none of callers', async () => {
    const cookie = await newSession()
    const headers = { cookie, ...ofDashboard, 'sec-fetch-site': 'same-origin' }
    const streamPath = '/api/admin/realtime/stream'
    await using stream = await openEventStream(first.url, 'tables=note', { headers, path: streamPath })
    expect(stream.status).toBe(200)
    await send(second, 'DELETE', path, cookie)
    await stream.ended()
    const others = await newSession()
    const public_ = await send(first, 'GET', '/api/realtime?tables=note', others)
    expect([public_.status, public_.json.error]).toEqual([401, 'invalid_token'])
    const unproved = await first.request('GET', `${streamPath}?tables=note`, { headers: { cookie: others } })
    expect([unproved.status, unproved.json.error]).toEqual([403, 'dashboard_header_required'])
  })

  test("yields to a token: the request is that of the token's user", async () => {
    const cookie = await newSession()
    const options = { token: userToken({ sub: alice }) }
    const refused = await send(first, 'GET', '/api/admin/tables', cookie, options)
    expect([refused.status, refused.json.error]).toEqual([401, 'admin_required'])
    const wrong = await send(first, 'GET', '/api/collections/note', cookie, { token: 'wrong' })
    expect([wrong.status, wrong.json.error]).toEqual([401, 'invalid_token'])
  })

  test.each([
    ['a read without the header', 'GET', {}, notCounted],
    [
      'a read that a person typed',
      'GET',
      { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' },
      notCounted,
    ],
    [
      'a picture on another site',
      'GET',
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
      notCounted,
    ],
    [
      'a script without the header',
      'GET',
      { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' },
      notCounted,
    ],
    ['another value of the header', 'GET', { 'x-basalt-dashboard': 'yes' }, notCounted],
    ['a write without the header', 'DELETE', { origin: 'own', 'sec-fetch-site': 'same-origin' }, notCounted],
    ['a form of another site', 'DELETE', { origin: 'https://evil.example' }, notCounted],
    ['a read of another site', 'GET', { ...ofDashboard, 'sec-fetch-site': 'cross-site' }, crossSite],
    ['a read of a neighbour', 'GET', { ...ofDashboard, 'sec-fetch-site': 'same-site' }, crossSite],
    ['a read of another origin', 'GET', { ...ofDashboard, origin: 'https://evil.example' }, crossSite],
    ['a write without an origin', 'DELETE', { ...ofDashboard, 'sec-fetch-site': 'same-origin' }, crossSite],
    ['a write of another origin', 'DELETE', { ...ofDashboard, origin: 'https://evil.example' }, crossSite],
    ['a write of another port', 'DELETE', { ...ofDashboard, origin: 'http://127.0.0.1:1' }, crossSite],
    ['a write of an opaque origin', 'DELETE', { ...ofDashboard, origin: 'null' }, crossSite],
    [
      'a write of a neighbour',
      'DELETE',
      { ...ofDashboard, origin: 'own', 'sec-fetch-site': 'same-site' },
      crossSite,
    ],
  ])('does not count for %s', async (_what, method, headers, expected) => {
    const cookie = await newSession()
    const { origin, ...others } = headers as Record<string, string>
    const own = origin === undefined ? {} : { origin: origin === 'own' ? first.url : origin }
    const response = await first.request(method, path, { headers: { cookie, ...others, ...own } })
    expect([response.status, envelope(response)]).toEqual([403, expected])
    // The rejected requests have changed nothing.
    expect((await send(first, 'GET', path, cookie)).status).toBe(200)
  })

  test.each([
    [
      'a picture',
      { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' },
    ],
    ['a download', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }],
    ['a browser that does not say its mode', { 'sec-fetch-site': 'same-origin' }],
    ['plain HTTP to another machine, where browsers say nothing', ofDashboard],
  ])('counts for %s of the page', async (_what, headers) => {
    const cookie = await newSession()
    // Fetch sets the mode by itself, so the request is written by hand.
    const answer = await raw(first, 'GET', path, { cookie, ...headers })
    expect(answer.status).toBe(200)
  })

  test('counts for a write under the public address, whatever host name the proxy uses', async () => {
    await using behind = await createTestApp({
      database,
      config: { 'server.public_base_url': 'https://api.example.com' },
    })
    const cookie = await newSession(behind)
    const headers = { cookie, ...ofDashboard, origin: 'https://api.example.com' }
    expect((await behind.request('DELETE', path, { headers })).status).toBe(204)
  })

  test('does not count for an application at the same address, which sends no header', async () => {
    const cookie = await newSession()
    const headers = { cookie, 'sec-fetch-site': 'same-origin' }
    const answer = await raw(first, 'GET', '/api/collections/note', { ...headers, 'sec-fetch-mode': 'cors' })
    expect([answer.status, JSON.parse(answer.text).items]).toEqual([200, []])
    const user = await raw(first, 'GET', '/api/auth/me', { ...headers, 'sec-fetch-mode': 'cors' })
    expect([user.status, JSON.parse(user.text).error]).toEqual([401, 'missing_authorization'])
    const document = await raw(first, 'GET', '/api/openapi.json', { ...headers, 'sec-fetch-mode': 'cors' })
    expect(JSON.parse(document.text).paths).not.toHaveProperty('/api/collections/note')
  })

  test('holds only the token of an administrator', async () => {
    const cookie = `__Host-basalt-admin=${userToken({ sub: alice })}`
    const response = await send(first, 'GET', '/api/collections/note', cookie)
    expect([response.status, response.json.error]).toEqual([401, 'invalid_token'])
  })

  test.each(['', 'x', 'basalt_admin_', `basalt_admin_${'0'.repeat(49)}`, '%00', '"'])(
    'has ended if it is %j',
    async (value) => {
      const response = await send(first, 'GET', path, `a=b; __Host-basalt-admin=${value}; c=d`)
      expect([response.status, envelope(response)]).toEqual([401, adminRequired])
    },
  )

  test('never counts on the host of a site', async () => {
    const cookie = await newSession()
    const answer = await raw(first, 'GET', '/api/admin/tables', {
      cookie,
      ...ofDashboard,
      host: 'shop.localhost',
    })
    expect(answer.status).toBe(404)
  })

  test('is not for other origins: no preflight permits its header, and none may send credentials', async () => {
    for (const origin of ['https://app.example', 'http://localhost:3000']) {
      const response = await first.request('OPTIONS', '/api/collections/note', {
        headers: {
          origin,
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'x-basalt-dashboard',
        },
      })
      expect(response.headers.get('access-control-allow-headers')).not.toMatch(/dashboard|cookie/i)
      expect(response.headers.get('access-control-allow-credentials')).toBeNull()
    }
  })
})

describe('end of an admin session in a cookie', () => {
  const isOpen = async (node: TestApp, cookie: string) =>
    (await send(node, 'GET', '/api/admin/tables', cookie)).status

  test('happens at the sign-out, at once on this node and within a second on others, and clears the cookie', async () => {
    const cookie = await newSession()
    const other = await newSession()
    expect([await isOpen(first, cookie), await isOpen(second, cookie)]).toEqual([200, 200])
    const response = await send(first, 'DELETE', path, cookie)
    expect([response.status, response.text]).toEqual([204, ''])
    expect(cookiesOf(response)).toEqual([
      {
        name: '__Host-basalt-admin',
        value: '',
        attributes: ['HttpOnly', 'Max-Age=0', 'Path=/', 'SameSite=Strict', 'Secure'],
      },
      { name: 'basalt-admin', value: '', attributes: ['HttpOnly', 'Max-Age=0', 'Path=/', 'SameSite=Strict'] },
    ])
    expect(await isOpen(first, cookie)).toBe(401)
    await expect.poll(() => isOpen(second, cookie)).toBe(401)
    expect([await isOpen(first, other), await isOpen(second, other)]).toEqual([200, 200])
    const again = await send(first, 'DELETE', path, cookie)
    expect([again.status, envelope(again)]).toEqual([401, adminRequired])
  })

  test('happens after two hours without a request, by the database clock', async () => {
    const cookie = await newSession()
    expect(await isOpen(first, cookie)).toBe(200)
    await database.sql(`update basalt.admin_sessions set idle_expires_at = now() - interval '1 microsecond'`)
    await expect.poll(() => isOpen(first, cookie)).toBe(401)
  })

  test('happens after twelve hours, however many requests there were', async () => {
    const cookie = await newSession()
    await database.sql(`update basalt.admin_sessions set expires_at = now() + interval '1 hour'`)
    const response = await send(second, 'GET', path, cookie)
    expect(Date.parse(response.json.expiresAt) - Date.now()).toBeLessThan(3_601_000)
    await database.sql('update basalt.admin_sessions set expires_at = now()')
    await expect.poll(() => isOpen(first, cookie)).toBe(401)
  })

  test('is postponed by requests, by one of ten and at most once a minute', async () => {
    const cookie = await newSession()
    const ends = async () => {
      const [row] = await database.sql(
        `select idle_expires_at::text as at, xmin::text from basalt.admin_sessions order by created_at desc limit 1`,
      )
      return row
    }
    const begun = await ends()
    await isOpen(first, cookie)
    expect(await ends()).toEqual(begun)
    await database.sql(`update basalt.admin_sessions set idle_expires_at = now() + interval '118 minutes'`)
    await database.sql('create table moved (at timestamptz)')
    await database.sql(`
      create function note_move() returns trigger language plpgsql as $$
        begin insert into public.moved values (now()); return new; end $$;
      create trigger note_move after update on basalt.admin_sessions for each row execute function note_move()`)
    try {
      // A verified token is trusted for a second, so that most requests make no query.
      await expect
        .poll(async () => {
          const nodes = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? first : second))
          await Promise.all(nodes.map((node) => isOpen(node, cookie)))
          return (await database.sql('select from moved')).length
        })
        .toBe(1)
    } finally {
      await database.sql(
        'drop trigger note_move on basalt.admin_sessions; drop function note_move; drop table moved',
      )
    }
  })

  test('is not caused by a database that accepts no writes', async () => {
    const cookie = await newSession()
    await database.sql(`update basalt.admin_sessions set idle_expires_at = now() + interval '1 hour'`)
    await database.sql(`
      create function refuse() returns trigger language plpgsql as $$
        begin raise exception 'cannot execute in a read-only transaction' using errcode = '25006'; end $$;
      create trigger refuse before update on basalt.admin_sessions for each row execute function refuse()`)
    try {
      expect(await isOpen(second, cookie)).toBe(200)
    } finally {
      await database.sql('drop trigger refuse on basalt.admin_sessions; drop function refuse')
    }
  })

  test('happens with a new password, on every node', async () => {
    await using own = await createTestDatabase()
    await using node = await createTestApp({ database: own })
    const cookie = await newSession(node)
    expect(await isOpen(node, cookie)).toBe(200)
    await using changed = await createTestApp({
      database: own,
      config: { 'admin.password': 'another password' },
    })
    expect(await isOpen(changed, cookie)).toBe(401)
    await expect.poll(() => isOpen(node, cookie)).toBe(401)
  })
})

/** Sends a request with headers that `fetch` does not let a program set. */
function raw(
  node: TestApp,
  method: string,
  target: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<{ status: number | undefined; setCookie: readonly string[]; text: string }> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const request = httpRequest(node.url + target, {
      method,
      headers: {
        'x-forwarded-for': newAddress(),
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      let received = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => (received += chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode,
          setCookie: response.headers['set-cookie'] ?? [],
          text: received,
        }),
      )
    })
    request.end(text)
  })
}
