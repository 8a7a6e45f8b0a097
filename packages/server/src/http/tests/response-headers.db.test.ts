import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, notes } from '../../../test/fixtures.ts'
import { examplePath, listRoutes } from '../../../test/routes.ts'
import { createTestApp, type TestApp, type TestResponse, userToken } from '../../../test/test-app.ts'

let app: TestApp
let secure: TestApp
const token = userToken({ sub: alice })
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

beforeAll(async () => {
  app = await createTestApp({ setup: notes })
  secure = await createTestApp({
    database: app.database,
    config: { 'server.public_base_url': 'https://api.example.com/' },
  })
})
afterAll(async () => {
  await secure[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

async function requestEveryRoute(on: TestApp): Promise<(readonly [string, TestResponse])[]> {
  const routes = listRoutes(on).filter(({ url }) => !url.endsWith('/logout'))
  return await Promise.all(
    [...routes, { method: 'GET', url: '/nothing' }, { method: 'PUT', url: '/health' }].map(
      async ({ method, url }) => {
        const body = ['GET', 'HEAD', 'DELETE'].includes(method) ? undefined : {}
        const response = await on.request(method, examplePath(url), { token, body })
        return [`${method} ${url} ${response.status}`, response] as const
      },
    ),
  )
}

describe('every response, of success or failure', () => {
  test('carries the headers that stop browsers from sniffing, framing and sending referrers', async () => {
    for (const [what, { headers }] of await requestEveryRoute(app)) {
      const found = ['x-content-type-options', 'x-frame-options', 'referrer-policy'].map((name) =>
        headers.get(name),
      )
      expect([what, ...found]).toEqual([what, 'nosniff', 'DENY', 'no-referrer'])
      expect(headers.get('content-security-policy'), what).toMatch(
        /^default-src 'none'; .*frame-ancestors 'none'$/,
      )
      expect(headers.get('strict-transport-security'), what).toBe(null)
      expect([headers.get('server'), headers.get('x-powered-by')], what).toEqual([null, null])
    }
  })

  test('requires TLS from now on when clients reach the server by it', async () => {
    for (const [what, { headers }] of await requestEveryRoute(secure)) {
      expect([what, headers.get('strict-transport-security')]).toEqual([
        what,
        'max-age=31536000; includeSubDomains',
      ])
    }
    const { doc_url: docUrl } = (await secure.request('GET', '/nothing')).json
    expect(docUrl).toBe('https://api.example.com/docs/errors/route_not_found')
  })

  test('has a unique request id', async () => {
    const responses = await requestEveryRoute(app)
    const ids = responses.map(([, { headers }]) => headers.get('x-request-id'))
    for (const id of ids) expect(id).toMatch(uuid)
    expect(new Set(ids).size).toBe(responses.length)
  })
})

describe('request id of the client', () => {
  test.each([
    'client-id-1',
    'a'.repeat(128),
    '3f2c9a10-8d4e-4c6b-9a57-1f0e6b2d7c11',
    'Root=1-67891233:abc.d_e',
  ])('is kept: %s', async (id) => {
    const response = await app.request('GET', '/health', { headers: { 'x-request-id': id } })
    expect(response.headers.get('x-request-id')).toBe(id)
  })

  test.each<readonly [string, string]>([
    ['short', 'a'],
    ['long', 'a'.repeat(129)],
    ['two', 'client-id-1, client-id-2'],
    ['markup', '<script>alert(1)</script>'],
    ['a forged log field', '","level":"fatal","x":"'],
    ['blanks', 'client id number 1'],
    ['a format', '%s%s%s%s%n'],
    ['not ASCII', 'größe-größe-größe'],
    ...['key', 'at', 'rt', 'cs', 'admin'].map(
      (kind) => [`a secret: ${kind}`, `basalt_${kind}_${'x'.repeat(40)}`] as const,
    ),
    ['a secret within', 'Root=1:basalt_key_0123456789'],
    ['a JWT', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln'],
  ])('is replaced when it does not look like an id: %s', async (_what, id) => {
    const response = await app.request('GET', '/health', {
      headers: { 'x-request-id': Buffer.from(id).toString('latin1') },
    })
    expect(response.headers.get('x-request-id')).toMatch(uuid)
  })
})

describe('caching', () => {
  test('is forbidden for responses to an authenticated request, except records and lists', async () => {
    const open = [
      '/api/openapi',
      '/api/docs',
      '/nothing',
      '/api/admin/',
      '/health',
      '/favicon',
      '/_sites',
      '/api/sites/tls-check',
    ]
    for (const [what, { headers }] of await requestEveryRoute(app)) {
      if (/^(GET|HEAD) \/ |^POST \/o?auth\//.test(what) || open.some((path) => what.includes(path))) continue
      // Records and lists are stored for their caller, and checked before each use.
      const expected =
        headers.has('etag') && what.includes('/api/collections/') ? 'private, no-cache' : 'no-store'
      expect([what, headers.get('cache-control')]).toEqual([what, expected])
    }
  })

  test('is forbidden for rejections, too', async () => {
    for (const options of [
      {},
      { token: 'x' },
      { token, body: '{' },
      { token, body: 'x'.repeat(2_000_000) },
    ]) {
      const method = 'body' in options ? 'POST' : 'GET'
      const response = await app.request(method, '/api/collections/note', options)
      expect([response.status >= 400, response.headers.get('cache-control')]).toEqual([true, 'no-store'])
    }
  })
})
