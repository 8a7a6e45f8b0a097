import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, notes } from '../../../test/fixtures.ts'
import { allowedOn, examplePath, listRoutes, methodsOf } from '../../../test/routes.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../test/test-app.ts'

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup: notes, config: { 'server.body_limit': '4096' } })
})
afterAll(() => app[Symbol.asyncDispose]())

const json = { 'content-type': 'application/json' }

describe('unknown query parameter', () => {
  test.each([
    ['/api/admin/logs?levl=error', 'unknown parameter "levl"; did you mean level?'],
    ['/api/admin/audit?user=x', 'unknown parameter "user"; did you mean user_id?'],
    ['/api/admin/apps?sort=name', 'unknown parameter "sort"'],
    ['/api/admin/usage?constructor=1', 'unknown parameter "constructor"'],
    ['/api/admin/jobs?page=2&offset=1', 'unknown parameter "page"; did you mean state?'],
  ])('returns 400 for %s and suggests the nearest name', async (path, message) => {
    const response = await app.request('GET', path, { token: await app.adminToken() })
    expect(envelope(response)).toEqual({ code: 400, message, error: 'unknown_parameter' })
  })

  test.each([
    ['GET', '/api/webhooks?page=2', 'unknown parameter "page"'],
    ['GET', '/api/admin/schedules?limit=5', 'unknown parameter "limit"'],
    ['GET', '/api/schema?table=notes', 'unknown parameter "table"'],
    [
      'POST',
      '/api/admin/jobs/018f0000-0000-7000-8000-000000000000/retry?force=true',
      'unknown parameter "force"',
    ],
    ['DELETE', '/api/webhooks/018f0000-0000-7000-8000-000000000000?force=true', 'unknown parameter "force"'],
  ])('returns 400 for %s %s, which takes no parameters', async (method, path, message) => {
    const response = await app.request(method, path, { token: await app.adminToken() })
    expect(envelope(response)).toEqual({ code: 400, message, error: 'unknown_parameter' })
  })

  test.each(['/health?probe=1', '/api/admin/status?probe=1'])(
    'is ignored in %s, which everyone may call',
    async (path) => {
      expect((await app.request('GET', path)).status).toBe(200)
    },
  )

  test('returns 400 for users, too, where the endpoint takes no parameters', async () => {
    const response = await app.request('GET', '/api/auth/sessions?limit=1', { token })
    expect(envelope(response)).toEqual({
      code: 400,
      message: 'unknown parameter "limit"',
      error: 'unknown_parameter',
    })
  })

  test.each(['/api/admin/logs?_=1', '/api/schema?_=1'])(
    'is ignored when its name begins with _: %s',
    async (path) => {
      const response = await app.request('GET', path, { token: await app.adminToken() })
      expect(response.status).toBe(200)
    },
  )
})

describe('unknown path', () => {
  test.each(['/nothing', '/api', '/api/collections', '/api/collections/a/b/c', '/Health', '//health'])(
    'returns 404 in the envelope for %s',
    async (path) => {
      const response = await app.request('GET', path, { token })
      expect(response.status).toBe(404)
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(envelope(response)).toEqual({
        code: 404,
        message: `no such endpoint: GET ${path}`,
        error: 'route_not_found',
      })
    },
  )

  test('keeps the query, which may carry a secret, out of the message', async () => {
    const response = await app.request('GET', '/nothing?token=hidden')
    expect(envelope(response).message).toBe('no such endpoint: GET /nothing')
  })

  test.each([
    ['with a body of another type', { body: 'a=1', headers: { 'content-type': 'text/plain' } }],
    ['with a JSON body', { body: { a: 1 } }],
  ])('returns 404 %s, too', async (_what, options) => {
    expect((await app.request('POST', '/nothing', options)).status).toBe(404)
  })

  test('responds to HEAD without a body', async () => {
    const response = await app.request('HEAD', '/nothing')
    expect([response.status, response.text]).toEqual([404, ''])
  })

  test('does not include a known path with a trailing slash', async () => {
    expect((await app.request('GET', '/health/')).status).toBe(200)
  })
})

describe('unsupported method', () => {
  test('returns 405 with Allow on every route', async () => {
    const routes = listRoutes(app)
    const paths = new Set(routes.map(({ url }) => examplePath(url)))
    expect(paths.size).toBeGreaterThan(10)
    for (const path of paths) {
      const allowed = allowedOn(routes, path)
      const served = methodsOf(routes, path)
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'].filter(
        (candidate) => !served.includes(candidate),
      )) {
        const response = await app.request(method, path, { token, body: method === 'GET' ? undefined : {} })
        expect([response.status, response.headers.get('allow'), path, method]).toEqual([
          405,
          allowed.join(', '),
          path,
          method,
        ])
        expect(envelope(response)).toEqual({
          code: 405,
          message: `${method} is not allowed here: use ${allowed.join(', ')}`,
          error: 'method_not_allowed',
        })
      }
    }
  })

  test('is listed by OPTIONS on every route', async () => {
    const routes = listRoutes(app)
    for (const { url } of routes) {
      const response = await app.request('OPTIONS', examplePath(url))
      const allowed = [...allowedOn(routes, examplePath(url)), 'OPTIONS'].join(', ')
      expect([response.status, response.text, response.headers.get('allow')]).toEqual([204, '', allowed])
    }
  })

  test.each([
    ['/api/collections/note/batch', 'POST'],
    ['/api/collections/note/export.csv', 'GET, HEAD'],
    ['/api/collections/note/1', 'DELETE, GET, HEAD, PATCH'],
    ['/api/storage/buckets', 'GET, HEAD, POST'],
  ])(
    'gets an Allow for %s of %s, without the methods of a record or object of that name',
    async (path, allowed) => {
      const refused = await app.request('PROPFIND', path, { token })
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, allowed])
      expect((await app.request('OPTIONS', path)).headers.get('allow')).toBe(`${allowed}, OPTIONS`)
    },
  )

  test('returns 404 for OPTIONS of an unknown path', async () => {
    expect((await app.request('OPTIONS', '/nothing')).status).toBe(404)
  })
})

describe('HEAD', () => {
  test('works on every route that has GET, with its status and headers and without a body', async () => {
    const routes = listRoutes(app)
    // A stream has no end for which a HEAD request could wait.
    const isStream = (url: string) =>
      url.startsWith('/api/realtime') || ['/api/admin/realtime/stream', '/api/admin/logs/tail'].includes(url)
    // It starts or ends a sign-in, which a HEAD request must not do.
    const isSignIn = (url: string) =>
      /^\/(api\/auth\/oauth|api\/admin\/auth\/oidc|oauth\/authorize)\//.test(url)
    const gets = routes.filter(({ method, url }) => method === 'GET' && !isStream(url) && !isSignIn(url))
    expect(gets.length).toBeGreaterThan(8)
    for (const { url } of gets) {
      const path = examplePath(url)
      expect([path, methodsOf(routes, path).includes('HEAD')]).toEqual([path, true])
      const get = await app.request('GET', path, { token })
      const head = await app.request('HEAD', path, { token })
      expect([path, head.status, head.text]).toEqual([path, get.status, ''])
      // The dashboard's policy has a new nonce each time.
      const headerOf = ({ headers }: typeof get, name: string) =>
        headers.get(name)?.replace(/'nonce-[^']+'/, "'nonce-…'")
      for (const name of ['content-type', 'cache-control', 'content-security-policy']) {
        expect([path, name, headerOf(head, name)]).toEqual([path, name, headerOf(get, name)])
      }
    }
  })
})

describe('request body', () => {
  test.each([
    ['text/plain', '{"password":"x"}'],
    ['application/x-www-form-urlencoded', 'password=x'],
    ['application/jsonp', '{}'],
    ['application/merge-patch+json', '{}'],
    ['multipart/form-data; boundary=x', '--x--'],
    ['application/json, text/plain', '{}'],
    ['json', '{}'],
    ['', '{}'],
  ])('returns 415 for type "%s"', async (type, body) => {
    for (const path of ['/api/admin/auth', '/api/collections/note']) {
      const response = await app.request('POST', path, { token, body, headers: { 'content-type': type } })
      expect(response.status).toBe(415)
      expect(envelope(response)).toEqual({
        code: 415,
        message: 'the content type must be application/json',
        error: 'unsupported_media_type',
      })
    }
  })

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/json;a=b',
  ])('is read for type "%s"', async (type) => {
    const response = await app.request('POST', '/api/collections/note', {
      token,
      body: '{"body":"x"}',
      headers: { 'content-type': type },
    })
    expect(response.status).toBe(201)
  })

  test.each([
    ['nothing', ''],
    ['half an object', '{"password":'],
    ['a word', 'password'],
    ['a comment', '{} // password'],
    ['a trailing comma', '{"password":"x",}'],
    ['single quotes', "{'password':'x'}"],
    ['NaN', '{"password":NaN}'],
    ['a byte order mark', '\ufeff{"password":"x"}'],
    ['two values', '{}{}'],
    ['a raw control character', '{"password":"\u0001"}'],
  ])('returns 400 when it is %s instead of JSON', async (_what, body) => {
    for (const path of ['/api/admin/auth', '/api/collections/note']) {
      const response = await app.request('POST', path, { token, body, headers: json })
      expect([response.status, envelope(response).code]).toEqual([400, 400])
    }
  })

  test('returns 400 when its bytes are not UTF-8', async () => {
    for (const path of ['/api/admin/auth', '/api/collections/note']) {
      const response = await fetch(app.url + path, {
        method: 'POST',
        headers: { ...json, authorization: `Bearer ${token}` },
        body: Buffer.from([...Buffer.from('{"body":"'), 0xc3, 0x28, ...Buffer.from('"}')]),
      })
      expect([response.status, await response.json()]).toEqual([
        400,
        expect.objectContaining({ error: 'invalid_json' }),
      ])
    }
  })

  test('returns 413 when it is larger than the limit', async () => {
    for (const path of ['/api/admin/auth', '/api/collections/note']) {
      const response = await app.request('POST', path, { token, body: { body: 'x'.repeat(5000) } })
      expect(response.status).toBe(413)
      expect(envelope(response)).toEqual({
        code: 413,
        message: 'the request body is larger than 4096 bytes',
        error: 'body_too_large',
      })
    }
  })

  test('is read when it is exactly as large as the limit', async () => {
    const frame = '{"body":""}'.length
    const fitting = await app.request('POST', '/api/collections/note', {
      token,
      body: { body: 'x'.repeat(4096 - frame) },
    })
    const larger = await app.request('POST', '/api/collections/note', {
      token,
      body: { body: 'x'.repeat(4097 - frame) },
    })
    expect([fitting.status, larger.status]).toEqual([201, 413])
  })

  test('may be empty where none is required, with any content type', async () => {
    for (const type of ['application/json', 'text/plain', 'application/octet-stream']) {
      const created = await app.request('POST', '/api/collections/note', { token, body: { body: 'x' } })
      const removed = await app.request('DELETE', `/api/collections/note/${created.json.id}`, {
        token,
        body: '',
        headers: { 'content-type': type },
      })
      expect(removed.status).toBe(204)
      const { token: admin } = (
        await app.request('POST', '/api/admin/auth', { body: { password: 'correct horse battery staple' } })
      ).json
      const out = await app.request('POST', '/api/admin/auth/logout', {
        token: admin,
        body: '',
        headers: { 'content-type': type },
      })
      expect(out.status).toBe(204)
    }
  })

  test('has no side effect when it names __proto__ or constructor', async () => {
    const response = await app.request('POST', '/api/admin/auth', {
      body: '{"__proto__":{"password":"correct horse battery staple"},"constructor":{"prototype":{"a":1}}}',
    })
    expect([response.status, envelope(response).error]).toEqual([400, 'missing_credentials'])
    expect(Object.hasOwn(Object.prototype, 'a')).toBe(false)
  })

  test.each([
    ['missing', undefined, 'body must be object'],
    ['a list', [], 'body must be object'],
    ['a text', '"x"', 'body must be object'],
    ['null', 'null', 'body must be object'],
    ['with a member of another type', { password: 5 }, 'password: must be string'],
    [
      'with a member that is too long',
      { code: 'x'.repeat(201) },
      'code: must not have more than 200 characters',
    ],
  ])('returns 400 when it is %s and names the field in the message', async (_what, body, message) => {
    const response = await app.request('POST', '/api/admin/auth', { body })
    expect(response.status).toBe(400)
    expect(envelope(response)).toEqual({ code: 400, message, error: 'invalid_request' })
  })
})

describe('path and query', () => {
  test.each(['/%', '/api/collections/%zz', '/api/collections/%ff', '/api/collections/note/%c3%28'])(
    'return 400 in the envelope with all headers for %s, which is not percent-encoded UTF-8',
    async (path) => {
      const response = await app.request('GET', path, { token, headers: { origin: 'https://a.example' } })
      expect(response.status).toBe(400)
      expect(envelope(response)).toEqual({
        code: 400,
        message: 'malformed HTTP request',
        error: 'malformed_request',
      })
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
    },
  )

  test.each([
    ['/api/admin/jobs?limit=1&limit=2', 'limit: must not be repeated'],
    ['/api/webhooks/x/deliveries?page=1&page=2', 'page: must not be repeated'],
    ['/api/admin/usage?period=day&period=week', 'period: must not be repeated'],
  ])('return 400 for the repeated parameter in %s and say so', async (path, message) => {
    const response = await app.request('GET', path, { token: await app.adminToken() })
    expect(envelope(response)).toEqual({ code: 400, message, error: 'invalid_request' })
  })

  test('accept a key as long as the request line', async () => {
    const response = await app.request('GET', `/api/collections/note/${'1'.repeat(12_000)}`, { token })
    expect([response.status, envelope(response).error]).toEqual([400, 'invalid_value'])
  })

  test('return 431 for a longer URL', async () => {
    const response = await app.request('GET', `/api/collections/note?filter=${'1'.repeat(17_000)}`, { token })
    expect(response.status).toBe(431)
    expect(envelope(response)).toEqual({
      code: 431,
      message: 'the request headers are too large',
      error: 'headers_too_large',
    })
  })

  test.each(['%00', '..%2f..%2fetc%2fpasswd', '<script>alert(1)</script>', '\u202e', '🦊'.repeat(50)])(
    'return 404 for an odd collection name: %s',
    async (name) => {
      const response = await app.request(
        'GET',
        `/api/collections/${encodeURIComponent(decodeURIComponent(name))}`,
        {
          token,
        },
      )
      expect([response.status, envelope(response).error]).toEqual([404, 'collection_not_found'])
    },
  )
})

describe('internal failure', () => {
  test('returns 500 without a stack, SQL or the reason, which only the log has', async () => {
    await using broken = await createTestApp()
    const requestId = 'request-that-fails'
    await broken.sql('alter table basalt.admin_sessions rename column token_hash to gone')
    const failed = await broken.request('POST', '/api/admin/auth', {
      body: { password: 'correct horse battery staple' },
      headers: { 'x-request-id': requestId },
    })
    expect(failed.status).toBe(500)
    expect(envelope(failed)).toEqual({ code: 500, message: 'internal error', error: 'internal_error' })
    expect(failed.text).not.toMatch(/token_hash|insert|\bat \//i)
    const lines = broken.log.map((line) => JSON.parse(line))
    expect(lines).toEqual([
      expect.objectContaining({
        requestId,
        operation: 'admin.signIn',
        kind: 'internal_error',
        msg: 'request failed',
        err: expect.objectContaining({ message: expect.stringContaining('token_hash') }),
      }),
      expect.objectContaining({ requestId, path: '/api/admin/auth', status: 500, msg: 'request' }),
    ])
    expect(broken.log.join()).not.toContain('correct horse battery staple')
  })
})
