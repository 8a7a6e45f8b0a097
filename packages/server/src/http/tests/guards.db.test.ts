import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, notes } from '../../../test/fixtures.ts'
import { forgeJwt } from '../../../test/jwt.ts'
import { examplePath, listRoutes, type ServedRoute } from '../../../test/routes.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../test/test-app.ts'

let app: TestApp
let admin: string
let loggedOut: string
let expiredAdmin: string
/** Token of alice whose first factor has passed. */
let pending: string

beforeAll(async () => {
  app = await createTestApp({ setup: notes, config: { 'storage.enabled': 'true' } })
  await app.sql('insert into basalt.users (id) values ($1)', [alice])
  const [row] = await app.sql(
    `insert into basalt.pending_sign_ins (user_id, method, expires_at)
    values ($1, 'password', now() + interval '1 hour') returning id`,
    [alice],
  )
  pending = forgeJwt({ payload: { ...claims, mfa_pending: true, jti: row?.id } })
  const signIn = async () => {
    const body = { password: 'correct horse battery staple' }
    return (await app.request('POST', '/api/admin/auth', { body })).json.token as string
  }
  expiredAdmin = await signIn()
  await app.sql(`update basalt.admin_sessions set expires_at = now() - interval '1 second'`)
  loggedOut = await signIn()
  await app.request('POST', '/api/admin/auth/logout', { token: loggedOut })
  admin = await signIn()
})
afterAll(() => app[Symbol.asyncDispose]())

/** Routes that respond without a token. A route missing here must be guarded; adding one is a decision. */
const publicRoutes = new Set([
  'GET /health',
  // They serve files of sites, on their own hosts.
  'GET /_sites',
  // A proxy calls it before it obtains a certificate.
  'GET /api/sites/tls-check',
  'GET /.well-known/oauth-authorization-server',
  'GET /.well-known/oauth-protected-resource',
  'GET /oauth/authorize',
  'GET /oauth/authorize/:provider',
  'POST /oauth/authorize',
  'GET /metrics',
  'GET /',
  'GET /favicon.ico',
  'GET /favicon.svg',
  'GET /api/docs',
  'GET /api/docs/errors',
  'GET /api/docs/graphql',
  'GET /api/docs/graphql/assets/:name',
  'GET /api/docs/guides',
  'GET /api/docs/guides/:name',
  'GET /api/docs/guides/images/:name',
  'GET /api/docs/assets/api-page.css',
  'GET /api/docs/assets/swagger-ui-bundle.js',
  'GET /api/docs/assets/swagger-ui.css',
  'GET /docs',
  'GET /docs/*',
  'GET /api/admin/status',
  'POST /api/admin/auth',
  'POST /api/admin/auth/forgot',
  'GET /api/admin/auth/methods',
  'POST /api/admin/auth/oidc',
  'GET /api/admin/auth/oidc/callback',
  'POST /api/admin/auth/passkey',
  'POST /api/admin/auth/password',
  'POST /api/admin/session',
  'GET /admin',
  'GET /admin/*',
  'GET /api/auth/captcha',
  'GET /api/auth/oauth/:provider',
  'GET /api/auth/oauth/:provider/callback',
  'GET /auth/verify',
  'GET /auth/magic-link',
  'GET /auth/reset-password',
  // These pages post forms, not JSON.
  'POST /api/auth/oauth/:provider/callback',
  'POST /auth/verify',
  'POST /auth/magic-link',
  'POST /auth/reset-password',
  // Providers sign these requests.
  'POST /api/functions/inbound/:name',
  'POST /api/webhooks/billing',
  'POST /api/webhooks/sms/status',
  'POST /api/webhooks/support/email',
  // It judges the token itself, because a client may also send it in its first message.
  'GET /api/realtime/ws',
  ...[
    'register',
    'token',
    'revoke',
    'introspect',
    'login',
    'refresh',
    'logout',
    'password-reset',
    'password-reset/confirm',
    'verify',
    'magic-link',
    'magic-link/confirm',
    'sms',
    'sms/confirm',
    'anonymous',
    'clients',
    'webauthn/login/begin',
    'webauthn/login/finish',
    'webauthn/login/discover/begin',
    'webauthn/login/discover/finish',
  ].map((path) => `POST /api/auth/${path}`),
])

/** Routes that complete a sign-in. Only a token whose second factor is due opens them. */
const secondFactorRoutes = /^\/api\/auth\/mfa\/(\w+\/(challenge|verify))$/
/** Routes for a user and for a token whose second factor is due. */
const eitherRoutes = /^\/api\/auth\/mfa\/factors$/

/** Routes that return more to signed-in callers. An invalid token is rejected. */
const optionalRoutes = new Set(['/api/openapi.json', '/api/openapi.yaml'])

type Access = 'public' | 'optional' | 'admin' | 'data' | 'stream' | 'account' | 'second factor' | 'either'

function accessOf({ method, url }: ServedRoute): Access {
  if (publicRoutes.has(`${method === 'HEAD' ? 'GET' : method} ${url}`)) return 'public'
  if (optionalRoutes.has(url)) return 'optional'
  const isReading = method === 'GET' || method === 'HEAD'
  if (isReading && /^\/api\/storage\/:bucket/.test(url)) return 'optional'
  if (/^\/api\/(admin|webhooks|storage\/buckets)(\/|$)/.test(url)) return 'admin'
  if (/^\/api\/collections\/:table\/(search-settings|synonyms)$/.test(url)) return 'admin'
  if (secondFactorRoutes.test(url)) return 'second factor'
  if (eitherRoutes.test(url)) return 'either'
  if (url === '/api/realtime') return 'stream'
  return /^\/api\/(auth|email|messaging|push|support)\//.test(url) ? 'account' : 'data'
}

function guarded(access: Access): ServedRoute[] {
  return listRoutes(app).filter(
    (route) => accessOf(route) === access && !route.url.endsWith('/admin/auth/logout'),
  )
}

function send({ method, url }: ServedRoute, headers: Record<string, string>, query = '') {
  const body = ['GET', 'HEAD', 'DELETE'].includes(method) ? undefined : {}
  return app.request(method, examplePath(url) + query, { headers, body })
}

const seconds = Math.floor(Date.now() / 1000)
const claims = { sub: alice, email: '', aal: 'aal1', amr: ['password'], iat: seconds, exp: seconds + 86_400 }
const user = forgeJwt({ payload: claims })

const refusedTokens = {
  garbage: 'x',
  'an expired one': forgeJwt({ payload: { ...claims, exp: seconds - 1 } }),
  'one that is not valid yet': forgeJwt({ payload: { ...claims, nbf: seconds + 86_400 } }),
  'one of another server': forgeJwt({ payload: claims, secret: 'another-secret-of-more-than-32-characters' }),
  'an unsigned one': user.replace(/[^.]*$/, ''),
  'an admin token with a wrong checksum': `basalt_admin_${'0'.repeat(49)}`,
  'an API key': `basalt_key_${'0'.repeat(49)}`,
  'two words': `${user} ${user}`,
} as const

const refusedHeaders: Readonly<Record<string, Record<string, string>>> = {
  nothing: {},
  'an empty header': { authorization: '' },
  'the scheme alone': { authorization: 'Bearer' },
  'the scheme and blanks': { authorization: 'Bearer    ' },
  'another scheme': { authorization: `Basic ${Buffer.from('admin:admin').toString('base64')}` },
  'no scheme': { authorization: user },
  'a cookie': { cookie: `token=${user}; access_token=${user}; basalt_token=${user}` },
  'headers of others': { 'x-api-key': user, apikey: user, 'x-access-token': user, 'x-basalt-user-id': alice },
}

test('guards › cover every route that is not known to be public', () => {
  const found = listRoutes(app).filter((route) => accessOf(route) === 'public' && route.method !== 'HEAD')
  expect(new Set(found.map(({ method, url }) => `${method} ${url}`))).toEqual(publicRoutes)
  expect(guarded('data').length).toBeGreaterThan(5)
})

test('guards › accept the scheme of a token in any case', async () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'beArer']) {
    const response = await app.request('GET', '/api/schema', {
      headers: { authorization: `${scheme} ${user}` },
    })
    expect([scheme, response.status]).toEqual([scheme, 200])
  }
})

const anyHeaders: readonly Record<string, string>[] = [
  {},
  { authorization: 'Bearer x' },
  { authorization: `Bearer ${user}` },
]

describe('public route', () => {
  test('responds without a token and ignores one that is sent', async () => {
    for (const route of guarded('public')) {
      for (const headers of anyHeaders) {
        const { status, text } = await send(route, headers)
        if (route.method !== 'POST') {
          // Redirects are fine, and so is the response of a WebSocket route to other requests. Here no provider
          // is configured, and the authorization server is off. Sites have other hosts. No built file and no
          // page of the documentation has the name.
          const isOff =
            /oauth|\/oidc\//.test(route.url) ||
            ['/_sites', '/api/docs/graphql/assets/:name', '/docs/*'].includes(route.url)
          // The request lacks the host to check, or the route whose captcha is described.
          const lacksQuery = ['/api/sites/tls-check', '/api/auth/captcha'].includes(route.url)
          expect([route.url, [302, 426].includes(status) ? 200 : status]).toEqual([
            route.url,
            isOff ? 404 : lacksQuery ? 400 : 200,
          ])
          continue
        }
        // Without a body no sign-in passes. Disabled features say so. Only this route reads a token that is
        // sent.
        const readsToken = route.url.endsWith('/magic-link/confirm') && headers.authorization === 'Bearer x'
        const isForm = /^\/(o?auth)\//.test(route.url)
        // A signature replaces the token.
        const isSigned = route.url.startsWith('/api/webhooks/')
        const answers = isSigned
          ? [403, 404]
          : isForm
            ? [415]
            : route.url === '/api/admin/auth/passkey'
              ? [200]
              : readsToken || route.url.endsWith('/auth/login')
                ? [401]
                : [400, 404]
        expect([route.url, answers.includes(status)]).toEqual([route.url, true])
        if (!readsToken) expect(text).not.toMatch(/authorization|token is invalid/)
      }
    }
  })
})

/** Lists the routes for data and accounts, which are guarded against the same callers. */
const guardedForUsers = () => [...guarded('data'), ...guarded('account')]

describe('route for callers', () => {
  test.each(Object.entries(refusedHeaders))('rejects %s', async (_what, headers) => {
    for (const route of guardedForUsers()) {
      const response = await send(route, headers, '?token=x&access_token=x')
      expect([route, response.status]).toEqual([route, 401])
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      if (route.method === 'HEAD') continue
      expect(envelope(response)).toEqual({
        code: 401,
        message: 'missing or invalid authorization header',
        error: 'missing_authorization',
      })
    }
  })

  test.each(Object.entries(refusedTokens))('rejects %s', async (_what, token) => {
    for (const route of guardedForUsers()) {
      const response = await send(route, { authorization: `Bearer ${token}` })
      expect([route, response.status]).toEqual([route, 401])
      expect(response.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
      if (route.method === 'HEAD') continue
      expect(envelope(response)).toEqual({
        code: 401,
        message: 'invalid or expired token',
        error: 'invalid_token',
      })
    }
  })

  test.each([
    ['that was logged out', () => loggedOut],
    ['that has expired', () => expiredAdmin],
  ])('rejects an admin token %s', async (_what, token) => {
    for (const route of guardedForUsers()) {
      const response = await send(route, { authorization: `Bearer ${token()}` })
      expect([route, response.status]).toEqual([route, 401])
    }
  })

  test('rejects a token whose second factor is due, and says so', async () => {
    for (const route of guardedForUsers()) {
      const response = await send(route, { authorization: `Bearer ${pending}` })
      expect([route, response.status]).toEqual([route, 401])
      if (route.method === 'HEAD') continue
      expect(envelope(response)).toEqual({
        code: 401,
        message: 'MFA verification required',
        error: 'mfa_required',
      })
    }
  })

  test.each([
    ['a user', () => user],
    ['an anonymous user', () => forgeJwt({ payload: { ...claims, amr: ['anonymous'], is_anonymous: true } })],
    ['a user of two factors', () => userToken({ sub: alice, aal: 'aal2', amr: ['password', 'totp'] })],
    ['the administrator', () => admin],
  ])('admits %s', async (_who, token) => {
    for (const route of guarded('data')) {
      const response = await send(route, { authorization: `Bearer ${token()}` })
      expect([route, response.status < 500 && response.status !== 401]).toEqual([route, true])
    }
  })

  test('admits a token after several blanks', async () => {
    const response = await app.request('GET', '/api/collections/note', {
      headers: { authorization: `Bearer   ${user}` },
    })
    expect(response.status).toBe(200)
  })

  test('rejects before it reads the body or checks the path', async () => {
    const options = { body: 'x'.repeat(2_000_000), headers: { 'content-type': 'text/plain' } }
    expect((await app.request('POST', '/api/collections/nothing', options)).status).toBe(401)
    expect((await app.request('GET', '/api/collections/nothing/1?fields=x')).status).toBe(401)
  })
})

describe('stream route', () => {
  const envelopes = async (headers: Record<string, string>, query = '') =>
    Promise.all(guarded('stream').map(async (route) => envelope(await send(route, headers, query))))
  const invalid = { code: 401, message: 'invalid or expired token', error: 'invalid_token' }

  test('rejects a request without a token', async () => {
    const refusal = { code: 401, message: 'authentication required', error: 'authentication_required' }
    for (const headers of [{}, { cookie: `token=${user}` }, { 'x-api-key': user }])
      expect(await envelopes(headers)).toEqual([refusal])
    expect(await envelopes({}, '?token=')).toEqual([refusal])
  })

  test.each(Object.entries(refusedTokens))('rejects %s', async (_what, token) => {
    expect(await envelopes({ authorization: `Bearer ${token}` })).toEqual([invalid])
    expect(await envelopes({}, `?token=${encodeURIComponent(token)}`)).toEqual([invalid])
  })

  test('rejects the administrator, and a token whose second factor is due', async () => {
    expect(await envelopes({ authorization: `Bearer ${admin}` })).toEqual([invalid])
    const refusal = { code: 401, message: 'MFA verification required', error: 'mfa_required' }
    expect(await envelopes({ authorization: `Bearer ${pending}` })).toEqual([refusal])
    expect(await envelopes({}, `?token=${pending}`)).toEqual([refusal])
  })

  test('prefers the header to a parameter', async () => {
    expect(await envelopes({ authorization: 'Bearer x' }, `?token=${user}`)).toEqual([invalid])
  })

  test('admits a user, by header or parameter', async () => {
    const next = { code: 400, message: 'tables parameter is required', error: 'tables_required' }
    expect(await envelopes({ authorization: `Bearer ${user}` })).toEqual([next])
    expect(await envelopes({}, `?token=${user}`)).toEqual([next])
  })
})

describe('route for the second factor', () => {
  test.each([
    ...Object.entries(refusedHeaders),
    ...Object.entries({ ...refusedTokens, 'a user': user }).map(
      ([what, token]) => [what, { authorization: `Bearer ${token}` }] as const,
    ),
  ])('rejects %s', async (_what, headers) => {
    expect(guarded('second factor').length).toBeGreaterThan(7)
    for (const route of guarded('second factor')) {
      expect([route, envelope(await send(route, headers))]).toEqual([
        route,
        { code: 401, message: 'no MFA challenge pending', error: 'no_pending_mfa' },
      ])
    }
  })

  test('rejects everybody else even when a user may call it, too', async () => {
    for (const route of guarded('either')) {
      for (const headers of [{}, { authorization: 'Bearer x' }]) {
        expect([route, (await send(route, headers)).status]).toEqual([route, 401])
      }
    }
  })
})

describe('route for the administrator', () => {
  const route: ServedRoute = { method: 'POST', url: '/api/admin/auth/logout' }
  const routes = () => [...guarded('admin'), route]

  test.each([
    ...Object.entries(refusedHeaders).map(([what, headers]) => [what, 'Bearer', headers] as const),
    ...Object.entries({ ...refusedTokens, 'a user': user }).map(
      ([what, token]) =>
        [what, 'Bearer error="invalid_token"', { authorization: `Bearer ${token}` }] as const,
    ),
  ])('rejects %s', async (_what, challenge, headers) => {
    for (const each of routes()) {
      const response = await send(each, headers)
      expect([each, response.status]).toEqual([each, 401])
      expect(response.headers.get('www-authenticate')).toBe(challenge)
      if (each.method === 'HEAD') continue
      expect(envelope(response)).toEqual({
        code: 401,
        message: 'admin authentication required',
        error: 'admin_required',
      })
    }
  })

  test.each([
    ['of a user of two factors', () => userToken({ sub: alice, aal: 'aal2' })],
    [
      'whose claims say admin',
      () => forgeJwt({ payload: { ...claims, role: 'admin', admin: true, is_admin: true } }),
    ],
    ['whose second factor is due', () => pending],
    ['that was logged out', () => loggedOut],
    ['that has expired', () => expiredAdmin],
  ])('rejects a token %s', async (_what, token) => {
    for (const each of routes()) {
      const response = await send(each, { authorization: `Bearer ${token()}` })
      expect([each, response.status]).toEqual([each, 401])
    }
  })

  test('admits the administrator', async () => {
    const response = await send(route, { authorization: `Bearer ${admin}` })
    expect([response.status, response.text]).toEqual([204, ''])
  })
})

describe('guards with auth.enabled = false', () => {
  test('open data to everybody, ignore tokens, and keep the administration closed', async () => {
    await using open = await createTestApp({
      database: app.database,
      config: { 'auth.enabled': 'false' },
    })
    for (const token of [undefined, 'x', user]) {
      expect((await open.request('GET', '/api/collections/note', { token })).status).toBe(200)
      expect((await open.request('GET', '/api/schema', { token })).status).toBe(200)
      expect((await open.request('POST', '/api/admin/auth/logout', { token })).status).toBe(401)
    }
    const token = await open.adminToken()
    const body = { totp_enabled: true }
    for (const [method, given] of [['GET'], ['PATCH', body], ['PUT', body]] as const) {
      const settings = await open.request(method, '/api/admin/auth-settings', { token, body: given })
      expect([settings.status, settings.json.message]).toEqual([404, 'auth is not enabled'])
    }
  })
})
