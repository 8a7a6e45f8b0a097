import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, notes } from '../../../test/fixtures.ts'
import {
  createTestApp,
  envelope,
  type TestApp,
  type TestResponse,
  userToken,
} from '../../../test/test-app.ts'

let app: TestApp
let strict: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup: notes })
  strict = await createTestApp({
    database: app.database,
    config: {
      'server.cors_allowed_origins':
        'https://app.example.com, https://Admin.Example.com:443,http://localhost:5173,' +
        'capacitor://localhost,moz-extension://*,https://*.shop.example',
    },
  })
})
afterAll(async () => {
  await strict[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

function corsHeaders({ headers }: TestResponse): Record<string, string> {
  const varies = headers.get('vary')?.split(', ').includes('Origin') === true
  return {
    ...Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-'))),
    ...(varies ? { vary: 'Origin' } : {}),
  }
}

function preflight(on: TestApp, origin: string, method: string) {
  return on.request('OPTIONS', '/api/collections/note/1', {
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type',
    },
  })
}

const preflightAnswer = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers':
    'Content-Type, Authorization, X-Request-Id, Last-Event-ID, X-Notify-Table, X-Notify-Action, Prefer, Range, If-Range, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, Idempotency-Key, X-Basalt-Position, X-Read-Consistency, X-Captcha-Response, Tus-Resumable, Upload-Length, Upload-Offset, Upload-Metadata, X-HTTP-Method-Override',
  'access-control-max-age': '86400',
}
const exposed =
  'X-Request-Id, Retry-After, WWW-Authenticate, ETag, Accept-Ranges, Content-Range, Content-Disposition, Idempotency-Replayed, X-Query-Duration-Ms, X-Basalt-Position, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-App-RateLimit-Limit, X-App-RateLimit-Remaining, X-App-RateLimit-Reset, Location, Upload-Offset, Upload-Length, Upload-Metadata, Upload-Expires, Tus-Resumable, Tus-Version, Tus-Extension, Tus-Max-Size'

describe('CORS by default', () => {
  test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])(
    'allows any page to send %s with a token, as its preflight needs none',
    async (method) => {
      const response = await preflight(app, 'https://anywhere.example', method)
      expect([response.status, response.text]).toEqual([204, ''])
      expect(corsHeaders(response)).toEqual({ 'access-control-allow-origin': '*', ...preflightAnswer })
      expect(response.headers.get('x-request-id')).not.toBe(null)
    },
  )

  test.each([
    ['success', '/api/collections/note', token, 200],
    ['a refused token', '/api/collections/note', 'x', 401],
    ['an unknown path', '/nothing', token, 404],
    ['a malformed path', '/api/collections/%zz', token, 400],
    ['an open endpoint', '/health', undefined, 200],
    ['the page of the reference', '/api/docs', undefined, 200],
  ])('allows any page to read %s', async (_what, path, bearer, status) => {
    const response = await app.request('GET', path, {
      token: bearer,
      headers: { origin: 'https://anywhere.example' },
    })
    expect(response.status).toBe(status)
    expect(corsHeaders(response)).toEqual({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': exposed,
    })
  })

  test('allows no page to read the authorization page', async () => {
    const headers = { origin: 'https://anywhere.example' }
    for (const path of ['/oauth/authorize', '/oauth/authorize/', '/oauth/%61uthorize']) {
      expect(corsHeaders(await app.request('GET', path, { headers }))).toEqual({})
      const preflightHeaders = { ...headers, 'access-control-request-method': 'POST' }
      expect(corsHeaders(await app.request('OPTIONS', path, { headers: preflightHeaders }))).toEqual({})
    }
    const metadata = await app.request('GET', '/.well-known/oauth-authorization-server', { headers })
    expect(metadata.headers.get('access-control-allow-origin')).toBe('*')
  })

  test('never allows credentials, because there are no cookies', async () => {
    for (const response of [
      await app.request('GET', '/health', { headers: { origin: 'https://a.example', cookie: 'a=b' } }),
      await preflight(app, 'https://a.example', 'POST'),
    ]) {
      expect(response.headers.get('access-control-allow-credentials')).toBe(null)
      expect(response.headers.get('set-cookie')).toBe(null)
    }
  })

  test('adds no headers for a request that comes from no page', async () => {
    expect(corsHeaders(await app.request('GET', '/health'))).toEqual({})
  })
})

describe('CORS with server.cors_allowed_origins', () => {
  test.each([
    'https://app.example.com',
    'https://admin.example.com',
    'http://localhost:5173',
    'capacitor://localhost',
    'moz-extension://4a2c7b16-0c4f-4e9b-9d57-3f1f4a7f0c11',
    'https://eu.north.shop.example',
  ])('allows %s, with a response for that origin alone', async (origin) => {
    const response = await strict.request('GET', '/api/collections/note', { token, headers: { origin } })
    expect(response.status).toBe(200)
    expect(corsHeaders(response)).toEqual({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': exposed,
      vary: 'Origin',
    })
    expect(corsHeaders(await preflight(strict, origin, 'DELETE'))).toEqual({
      'access-control-allow-origin': origin,
      vary: 'Origin',
      ...preflightAnswer,
    })
  })

  test.each([
    'https://evil.example',
    'http://app.example.com',
    'https://app.example.com:8443',
    'https://app.example.com.evil.example',
    'https://evil-app.example.com',
    'https://app.example.com@evil.example',
    'https://shop.example',
    'https://evilshop.example',
    'https://evil.example/.shop.example',
    'capacitor://localhost.evil.example',
    'chrome-extension://4a2c7b16',
    'https://APP.example.com',
    'null',
    '*',
    '',
  ])('rejects %s', async (origin) => {
    const response = await strict.request('GET', '/health', { headers: { origin } })
    expect(corsHeaders(response)).toEqual({ vary: 'Origin' })
    expect(corsHeaders(await preflight(strict, origin, 'GET'))).toEqual({ vary: 'Origin' })
    const malformed = await strict.request('GET', '/%', { headers: { origin } })
    expect(corsHeaders(malformed)).toEqual({ vary: 'Origin' })
  })

  test('serves a request that comes from no page, and separates its response in caches', async () => {
    expect(corsHeaders(await strict.request('GET', '/health'))).toEqual({ vary: 'Origin' })
  })
})

describe('CORS of the administration', () => {
  const foreign = 'https://anywhere.example'
  const paths = [
    ['GET', '/api/admin/status', '/api/admin/status'],
    ['POST', '/api/admin/auth', '/api/admin/auth'],
    ['GET', '/api/admin/users', '/api/admin/users/'],
    ['GET', '/api/webhooks', '/api/webhooks'],
    ['DELETE', '/api/webhooks/:id', '/api/webhooks/1'],
    ['GET', '/admin/*', '/admin/sign-in'],
    ['GET', 'percent-encoded', '/api/%61dmin/status'],
    ['GET', 'unknown', '/api/admin/nothing'],
  ] as const

  function send(on: TestApp, method: string, path: string, origin: string) {
    return Promise.all([
      on.request(method, path, { headers: { origin } }),
      on.request('OPTIONS', path, { headers: { origin, 'access-control-request-method': method } }),
    ])
  }

  test.each(paths)('rejects every page of another origin by default: %s %s', async (method, _route, path) => {
    for (const origin of [foreign, 'null', 'http://localhost:5173']) {
      for (const response of await send(app, method, path, origin)) {
        expect(corsHeaders(response)).toEqual({ vary: 'Origin' })
      }
    }
  })

  test.each(['https://eu.shop.example', 'moz-extension://4a2c7b16'])(
    'rejects a page that only a pattern names: %s',
    async (origin) => {
      for (const response of await send(strict, 'GET', '/api/admin/status', origin)) {
        expect(corsHeaders(response)).toEqual({ vary: 'Origin' })
      }
    },
  )

  test.each(paths)('allows its own pages and those listed by name: %s %s', async (method, _route, path) => {
    for (const [on, origin] of [
      [app, app.url],
      [strict, strict.url],
      [strict, 'https://app.example.com'],
    ] as const) {
      for (const response of await send(on, method, path, origin)) {
        expect(corsHeaders(response)).toMatchObject({
          'access-control-allow-origin': origin,
          vary: 'Origin',
        })
      }
    }
  })
})

describe('CORS without tokens (auth.enabled = false)', () => {
  test('rejects pages of other machines, whatever host name leads them here', async () => {
    await using open = await createTestApp({ database: app.database, config: { 'auth.enabled': 'false' } })
    const { port } = new URL(open.url)
    const path = '/api/collections/note'
    const send = async (headers: Record<string, string>) =>
      (await open.request('GET', path, { headers })).status
    for (const host of ['127.0.0.1', 'LOCALHOST', '[::1]'].map((name) => `${name}:${port}`))
      expect(await send({ host }), host).toBe(200)
    for (const host of [
      `evil.example:${port}`,
      'evil.example',
      `localhost.evil.example:${port}`,
      '10.1.2.3',
    ]) {
      expect(await send({ host }), host).toBe(403)
      expect(await send({ host, origin: `http://${host}` }), host).toBe(403)
    }
    // A form sends this without a preflight.
    const form = await open.request('POST', '/api/rpc/anything', {
      headers: { origin: 'https://evil.example' },
    })
    expect(envelope(form)).toEqual({
      code: 403,
      message: 'with auth.enabled = false only programs and pages of this machine may call',
      error: 'foreign_page',
    })
    const own = await open.request('POST', '/api/rpc/anything', { headers: { origin: open.url } })
    expect(envelope(own).error).toBe('function_not_found')
  })

  test('reads any origin as the pages of this machine', async () => {
    await using open = await createTestApp({ database: app.database, config: { 'auth.enabled': 'false' } })
    const path = '/api/collections/note'
    for (const origin of ['https://anywhere.example', 'null', 'http://127.0.0.1.evil.example']) {
      expect(corsHeaders(await open.request('GET', path, { headers: { origin } }))).toEqual({
        vary: 'Origin',
      })
      expect(corsHeaders(await preflight(open, origin, 'POST'))).toEqual({ vary: 'Origin' })
    }
    for (const origin of ['http://localhost:5173', 'http://127.0.0.1:3000', 'https://[::1]']) {
      expect(corsHeaders(await open.request('GET', path, { headers: { origin } }))).toMatchObject({
        'access-control-allow-origin': origin,
        vary: 'Origin',
      })
      expect((await preflight(open, origin, 'POST')).status).toBe(204)
    }
  })
})
