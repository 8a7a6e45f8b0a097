import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApplication } from '../../../../../test/api-keys.ts'
import { alice } from '../../../../../test/fixtures.ts'
import {
  approveClient,
  callback,
  createClient,
  createOAuthApp,
  createProof,
  obtainTokens,
  redeem,
  refresh,
  requestToken,
} from '../../../../../test/oauth.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
let admin: string
let appId: string

beforeAll(async () => {
  app = await createOAuthApp()
  admin = await app.adminToken()
  appId = await createApplication(app, { ownerUserId: alice })
})
afterAll(() => app[Symbol.asyncDispose]())

const send = (method: string, path = '', body?: unknown) =>
  app.request(method, `/api/admin/oauth/clients${path}`, { token: admin, body })
const invalid = (message: string) => ({ code: 400, message, error: 'invalid_oauth_client' })
const unknown = { code: 404, message: 'oauth client not found', error: 'oauth_client_not_found' }

describe('/api/admin/oauth/clients', () => {
  test('registers a client with a secret that is shown once and stored as a hash', async () => {
    const response = await send('POST', '', {
      appId,
      name: ' Notes on the go ',
      redirectUris: [callback, callback, 'http://localhost:3000/cb', 'http://127.0.0.1/cb'],
      scopes: ['readonly', 'readwrite'],
    })
    expect(response.status).toBe(201)
    const { clientSecret, client } = response.json
    expect(clientSecret).toMatch(/^basalt_cs_[0-9A-Za-z]{49}$/)
    expect(client).toEqual({
      id: expect.any(String),
      appId,
      clientId: expect.stringMatching(/^basalt_cid_[0-9A-Za-z]{49}$/),
      name: 'Notes on the go',
      redirectUris: [callback, 'http://localhost:3000/cb', 'http://127.0.0.1/cb'],
      scopes: ['readonly', 'readwrite'],
      clientType: 'confidential',
      source: 'administrator',
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: expect.stringMatching(/Z$/),
      revokedAt: null,
      activeAccessTokenCount: 0,
      activeRefreshTokenCount: 0,
      totalGrants: 0,
      lastTokenIssuedAt: null,
    })
    expect((await send('GET', `/${client.clientId}`)).json).toEqual(client)
    const stored = await app.sql(
      'select c::text, a::text as audit from basalt.oauth_clients c, basalt.audit a',
    )
    expect(JSON.stringify(stored)).not.toContain(clientSecret.slice(-30))
    const audit = await app.sql('select action from basalt.audit where target = $1', [client.clientId])
    expect(audit).toEqual([{ action: 'oauth_clients.create' }])
  })

  test('gives a public client no secret', async () => {
    const { clientSecret, clientId } = await createClient(app, { clientType: 'public' })
    expect(clientSecret).toBeUndefined()
    expect(envelope(await send('POST', `/${clientId}/rotate-secret`))).toEqual(
      invalid('cannot regenerate secret for public client'),
    )
  })

  const uri = (redirectUri: string) => ({ name: 'n', redirectUris: [redirectUri], scopes: ['*'] })
  test.each<[object, string]>([
    [{}, 'name is required'],
    [{ name: 'a\ud800' }, 'name: expected Unicode text without NUL'],
    [{ ...uri(callback), name: 'a\u2066b' }, 'name: expected text without controls of its direction'],
    [{ name: 'n', appId: '' }, 'appId is required'],
    [{ name: 'n', appId: 'x' }, 'invalid appId format'],
    [{ ...uri(callback), appId: '99999999-9999-4999-8999-999999999999' }, 'app not found'],
    [
      { ...uri(callback), clientType: 'secret' },
      'invalid client type: secret (must be confidential or public)',
    ],
    [{ name: 'n', scopes: ['*'] }, 'at least one redirect URI is required'],
    [{ name: 'n', redirectUris: [callback] }, 'at least one scope is required'],
    [
      { ...uri(callback), scopes: ['read'] },
      'invalid scope: read (must be one of: readonly, readwrite, *, email:send, sms:send, push:send, function:<name>)',
    ],
    [
      { ...uri(callback), scopes: ['email:send'] },
      'scopes: expected one of readonly, readwrite, * beside actions',
    ],
    [uri('callback'), 'invalid redirect URI: callback'],
    [uri('http://localhost:65536/'), 'invalid redirect URI: http://localhost:65536/'],
    [uri('https://client.example.com:070000/'), 'invalid redirect URI: https://client.example.com:070000/'],
    [uri(`${callback}?a=b`), `redirect URI must not contain query parameters: ${callback}?a=b`],
    [uri(`${callback}#a`), `redirect URI must not contain fragment: ${callback}#a`],
    [uri('https://*.example.com/'), 'redirect URI must not contain wildcard: https://*.example.com/'],
    [uri('http://example.com/'), 'HTTPS required for non-localhost redirect URI: http://example.com/'],
    [
      uri('http://localhost.example.com/'),
      'HTTPS required for non-localhost redirect URI: http://localhost.example.com/',
    ],
    [uri('http://localhost@example.com/'), 'invalid redirect URI: http://localhost@example.com/'],
    [uri('https://a\\@example.com/'), 'invalid redirect URI: https://a\\@example.com/'],
    [uri('javascript:alert(1)'), 'redirect URI must use http or https scheme: javascript:alert(1)'],
    [uri('com.example.app:/cb'), 'redirect URI must use http or https scheme: com.example.app:/cb'],
    [uri('https:example.com'), 'invalid redirect URI: https:example.com'],
    [uri('https://example.com/a b'), 'invalid redirect URI: https://example.com/a b'],
  ])('rejects %j: %s', async (body, message) => {
    expect(envelope(await send('POST', '', { appId, ...body }))).toEqual(invalid(message))
  })

  test('lists clients with counts of their grants', async () => {
    const client = await createClient(app)
    await obtainTokens(app, userToken({ sub: alice }), client)
    const list = (await send('GET', '?perPage=1')).json
    expect(list).toMatchObject({ page: 1, perPage: 1 })
    expect(list.items).toEqual([
      {
        ...client.client,
        activeAccessTokenCount: 1,
        activeRefreshTokenCount: 1,
        totalGrants: 1,
        lastTokenIssuedAt: expect.stringMatching(/Z$/),
      },
    ])
  })

  test('replaces all settings of a client', async () => {
    const { clientId } = await createClient(app)
    const body = { name: 'New', redirectUris: ['https://new.example.com/'], scopes: ['readonly'] }
    const changed = await send('PUT', `/${clientId}`, { ...body, clientType: 'public' })
    expect([changed.status, changed.json]).toEqual([
      200,
      expect.objectContaining({ ...body, clientType: 'confidential' }),
    ])
    for (const name of ['name', 'redirectUris', 'scopes'] as const) {
      expect((await send('PUT', `/${clientId}`, { ...body, [name]: undefined })).status).toBe(400)
    }
    expect(envelope(await send('PUT', '/x', body))).toEqual(unknown)
  })

  test('ends grants with a removed scope at once', async () => {
    const client = await createClient(app)
    const user = userToken({ sub: alice })
    const narrow = await obtainTokens(app, user, client, { scope: 'readonly' })
    const wide = await obtainTokens(app, user, client, { scope: 'readwrite' })
    const proof = createProof()
    const code = await approveClient(app, user, client, proof, { scope: 'readwrite' })
    const body = { name: 'New', redirectUris: [callback], scopes: ['readonly'] }
    const statusOf = async (token: string) => (await app.request('GET', '/api/schema', { token })).status
    expect(await statusOf(wide.access_token)).toBe(200)
    expect((await send('PUT', `/${client.clientId}`, body)).status).toBe(200)
    expect(await statusOf(wide.access_token)).toBe(401)
    for (const response of [
      await refresh(app, client, wide.refresh_token),
      await redeem(app, client, proof, code),
    ]) {
      expect([response.status, response.json.error]).toEqual([400, 'invalid_grant'])
    }
    expect(await statusOf(narrow.access_token)).toBe(200)
    expect((await refresh(app, client, narrow.refresh_token)).status).toBe(200)
    const wider = { ...body, scopes: ['readwrite'] }
    expect((await send('PUT', `/${client.clientId}`, wider)).status).toBe(200)
    expect(await statusOf(narrow.access_token)).toBe(200)
  })

  test('ends grants with a scope that SQL removes', async () => {
    const client = await createClient(app)
    const user = userToken({ sub: alice })
    const narrow = await obtainTokens(app, user, client, { scope: 'readonly' })
    const wide = await obtainTokens(app, user, client, { scope: '*' })
    const statusOf = async (token: string) => (await app.request('GET', '/api/schema', { token })).status
    expect(await statusOf(wide.access_token)).toBe(200)
    const list = (scopes: readonly string[]) =>
      app.sql('update basalt.oauth_clients set scopes = $1 where client_id = $2', [scopes, client.clientId])
    await list(['readonly', 'readwrite'])
    await expect.poll(() => statusOf(wide.access_token)).toBe(401)
    expect((await refresh(app, client, wide.refresh_token)).json.error).toBe('invalid_grant')
    await list(['readwrite'])
    expect((await refresh(app, client, narrow.refresh_token)).status).toBe(200)
  })

  test.each(['a code is redeemed', 'they ask for themselves'])(
    'issues nothing with a scope that is removed while %s',
    async (what) => {
      const client = await createClient(app)
      const proof = createProof()
      const code = await approveClient(app, userToken({ sub: alice }), client, proof, { scope: 'readwrite' })
      const holder = new pg.Client({ connectionString: app.database.url })
      await holder.connect()
      await holder.query('begin')
      await holder.query('update basalt.oauth_clients set scopes = $1 where client_id = $2', [
        ['readonly'],
        client.clientId,
      ])
      const isCode = what === 'a code is redeemed'
      const tokenRequest = isCode
        ? redeem(app, client, proof, code)
        : requestToken(app, {
            grant_type: 'client_credentials',
            scope: 'readwrite',
            client_id: client.clientId,
            client_secret: client.clientSecret,
          })
      const waiting = async () =>
        (
          await app.sql(
            "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
          )
        ).length
      await expect.poll(waiting).toBe(1)
      await holder.query('commit')
      await holder.end()
      const { status, json } = await tokenRequest
      expect([status, json.error]).toEqual([400, isCode ? 'invalid_grant' : 'invalid_scope'])
      const grants = await app.sql(
        `select from basalt.oauth_grants g join basalt.oauth_clients c on c.id = g.client_id where c.client_id = $1`,
        [client.clientId],
      )
      expect(grants).toEqual([])
    },
  )

  test('revokes a client once and permanently', async () => {
    const { clientId } = await createClient(app)
    expect((await send('DELETE', `/${clientId}`)).status).toBe(204)
    expect(envelope(await send('DELETE', `/${clientId}`))).toEqual(unknown)
    const revoked = invalid('oauth client has been revoked')
    expect(envelope(await send('PUT', `/${clientId}`, uri(callback)))).toEqual(revoked)
    expect(envelope(await send('POST', `/${clientId}/rotate-secret`))).toEqual(revoked)
    expect((await send('GET', `/${clientId}`)).json.revokedAt).toMatch(/Z$/)
  })

  test('allows the deletion of the app, which deletes its clients', async () => {
    const { clientId, client } = await createClient(app)
    const response = await app.request('DELETE', `/api/admin/apps/${client.appId}`, { token: admin })
    expect(response.status).toBe(204)
    expect((await send('GET', `/${clientId}`)).json).toMatchObject({
      appId: null,
      revokedAt: expect.any(String),
    })
  })

  test('revokes a client once for ten concurrent requests', async () => {
    const { clientId } = await createClient(app)
    const responses = await Promise.all(Array.from({ length: 10 }, () => send('DELETE', `/${clientId}`)))
    expect(responses.map(({ status }) => status).toSorted()).toEqual([204, ...Array(9).fill(404)])
  })
})

test('oauth server › every route returns 404 without provider mode', async () => {
  await using off = await createTestApp({ database: app.database })
  const token = userToken({ sub: alice })
  const disabled = {
    code: 404,
    message: 'the OAuth provider is not enabled',
    error: 'oauth_provider_disabled',
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const requests = [
    off.request('GET', '/api/auth/authorize', { token }),
    off.request('POST', '/api/auth/authorize/consent', { token, body: {} }),
    off.request('GET', '/api/auth/grants', { token }),
    off.request('DELETE', '/api/auth/grants/1', { token }),
    ...['token', 'revoke', 'introspect'].map((path) =>
      off.request('POST', `/api/auth/${path}`, { body: 'token=x', headers: form }),
    ),
    ...['server', 'resource'].map((what) =>
      off.request(
        'GET',
        `/.well-known/oauth-${what === 'server' ? 'authorization-server' : 'protected-resource'}`,
      ),
    ),
    off.request('GET', '/api/admin/oauth/clients', { token: admin }),
    off.request('POST', '/api/admin/oauth/clients', { token: admin, body: {} }),
    off.request('GET', '/api/admin/oauth/clients/x', { token: admin }),
    off.request('PUT', '/api/admin/oauth/clients/x', { token: admin, body: {} }),
    off.request('DELETE', '/api/admin/oauth/clients/x', { token: admin }),
    off.request('POST', '/api/admin/oauth/clients/x/rotate-secret', { token: admin }),
  ]
  for (const response of await Promise.all(requests)) expect(envelope(response)).toEqual(disabled)
  const { access_token } = await obtainTokens(app, token, await createClient(app))
  expect((await off.request('GET', '/api/schema', { token: access_token })).status).toBe(401)
})
