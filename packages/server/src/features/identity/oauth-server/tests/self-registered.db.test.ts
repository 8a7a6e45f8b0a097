import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import {
  approveClient,
  authorizationRequest,
  callback,
  createClient,
  createOAuthApp,
  createProof,
  obtainTokens,
  postForm,
  redeem,
  refresh,
  requestToken,
  type TestClient,
} from '../../../../../test/oauth.ts'
import { type ProviderStandIn, startProviderStandIn } from '../../../../../test/social.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

/** Clients that no administrator has registered: they register themselves, or a document describes them. */

let standIn: ProviderStandIn
let app: TestApp
let admin: string
const user = userToken({ sub: alice, email: 'alice@example.com' })
const proof = createProof()
const flags = {
  'auth.oauth_provider.enabled': 'true',
  'auth.oauth_provider.client_metadata_documents': 'true',
  'auth.oauth_provider.dynamic_registration': 'true',
}
const many = { ...flags, 'auth.oauth_provider.registrations_per_hour': '10000' }

beforeAll(async () => {
  standIn = await startProviderStandIn()
  app = await createOAuthApp({ config: many, reachProvider: standIn.reachProvider })
  admin = await app.adminToken()
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await standIn[Symbol.asyncDispose]()
})
beforeEach(() => {
  standIn.requests.length = 0
})

const json = { accept: 'application/json' }
const authorize = (parameters: Record<string, string>, on = app) =>
  on.request('GET', `/api/auth/authorize?${new URLSearchParams(parameters)}`, { token: user, headers: json })
const clientOf = async (clientId: string) =>
  (await app.request('GET', `/api/admin/oauth/clients/${encodeURIComponent(clientId)}`, { token: admin }))
    .json

describe('POST /api/auth/clients', () => {
  const register = (body: unknown, on = app) => on.request('POST', '/api/auth/clients', { body })

  test('gives a confidential client an id and a secret, with which a user can grant it access', async () => {
    const response = await register({
      client_name: ' Notebook ',
      redirect_uris: [callback, callback],
      contacts: ['ignored'],
      logo_uri: 'https://tracker.example/',
    })
    expect([response.status, response.json]).toEqual([
      201,
      {
        client_id: expect.stringMatching(/^basalt_cid_/),
        client_secret: expect.stringMatching(/^basalt_cs_/),
        client_id_issued_at: expect.any(Number),
        client_secret_expires_at: 0,
        client_name: 'Notebook',
        redirect_uris: [callback],
        token_endpoint_auth_method: 'client_secret_basic',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        scope: 'readonly readwrite',
      },
    ])
    expect(response.headers.get('cache-control')).toBe('no-store')
    const client = { clientId: response.json.client_id, clientSecret: response.json.client_secret }
    const tokens = await obtainTokens(app, user, client)
    expect((await refresh(app, client, tokens.refresh_token)).status).toBe(200)
    expect(await clientOf(client.clientId)).toMatchObject({
      appId: '00000000-0000-0000-0000-000000000000',
      name: 'Notebook',
      clientType: 'confidential',
      source: 'registration',
      totalGrants: 1,
    })
    const audit = await app.sql('select actor, action from basalt.audit where target = $1', [client.clientId])
    expect(audit).toEqual([{ actor: 'client', action: 'oauth_clients.register' }])
    const stored = await app.sql('select a::text from basalt.audit a')
    expect(JSON.stringify(stored)).not.toContain(client.clientSecret.slice(-30))
  })

  test('gives a public client only an id, and the permitted scopes among those it lists', async () => {
    const { json: registered } = await register({
      redirect_uris: ['http://127.0.0.1/callback'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'openid readonly *',
    })
    expect(registered).toEqual({
      client_id: expect.any(String),
      client_id_issued_at: expect.any(Number),
      client_name: 'Unnamed application',
      redirect_uris: ['http://127.0.0.1/callback'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'readonly',
    })
    const client = { clientId: registered.client_id, clientSecret: undefined }
    const redirect_uri = 'http://127.0.0.1:5123/callback'
    expect(
      (await authorize(authorizationRequest(client, proof, { redirect_uri, scope: 'readonly' }))).status,
    ).toBe(200)
    for (const scope of ['readwrite', '*']) {
      expect((await authorize(authorizationRequest(client, proof, { redirect_uri, scope }))).json.error).toBe(
        'invalid_scope',
      )
    }
  })

  const redirect_uris = [callback]
  test.each<[unknown, string, string]>([
    [{}, 'invalid_redirect_uri', 'redirect_uris: expected a list of one to 100 addresses'],
    [{ redirect_uris: [] }, 'invalid_redirect_uri', 'redirect_uris: expected a list of one to 100 addresses'],
    [
      { redirect_uris: callback },
      'invalid_redirect_uri',
      'redirect_uris: expected a list of one to 100 addresses',
    ],
    [
      { redirect_uris: [5] },
      'invalid_redirect_uri',
      'redirect_uris: expected a list of one to 100 addresses',
    ],
    [
      { redirect_uris: ['http://client.example.com/'] },
      'invalid_redirect_uri',
      'HTTPS required for non-localhost redirect URI: http://client.example.com/',
    ],
    [
      { redirect_uris: ['javascript:alert(1)'] },
      'invalid_redirect_uri',
      'redirect URI must use http or https scheme: javascript:alert(1)',
    ],
    [{ redirect_uris, client_name: 5 }, 'invalid_client_metadata', 'client_name: expected a text'],
    [
      { redirect_uris, client_name: 'x'.repeat(201) },
      'invalid_client_metadata',
      'client_name: at most 200 characters',
    ],
    [
      { redirect_uris, client_name: 'Calendar\u202etxt' },
      'invalid_client_metadata',
      'client_name: expected text without controls of its direction',
    ],
    [
      { redirect_uris, client_name: 'a\0b' },
      'invalid_client_metadata',
      'client_name: expected Unicode text without NUL',
    ],
    [
      { redirect_uris, client_name: 'a\ud800' },
      'invalid_client_metadata',
      'client_name: expected Unicode text without NUL',
    ],
    [{ redirect_uris, scope: ['readonly'] }, 'invalid_client_metadata', 'scope: expected a text'],
    [{ redirect_uris, scope: '*' }, 'invalid_client_metadata', 'scope: expected some of readonly, readwrite'],
    [
      { redirect_uris, token_endpoint_auth_method: 'private_key_jwt' },
      'invalid_client_metadata',
      'token_endpoint_auth_method: expected one of client_secret_basic, client_secret_post, none',
    ],
    [
      { redirect_uris, grant_types: ['implicit'] },
      'invalid_client_metadata',
      'grant_types: expected a list with authorization_code',
    ],
    [
      { redirect_uris, grant_types: ['authorization_code', 'client_credentials'] },
      'invalid_client_metadata',
      'grant_types: client_credentials is only for clients that an administrator has registered',
    ],
    [
      { redirect_uris, response_types: ['token'] },
      'invalid_client_metadata',
      'response_types: expected a list with code',
    ],
    ['{', 'invalid_client_metadata', 'invalid JSON body'],
    [[], 'invalid_client_metadata', 'body must be object'],
    ['null', 'invalid_client_metadata', 'body must be object'],
  ])('rejects %j: %s: %s', async (body, error, error_description) => {
    const response = await register(body)
    expect([response.status, response.json]).toEqual([400, { error, error_description }])
  })

  test('rejects a body that is not JSON', async () => {
    expect((await postForm(app, '/api/auth/clients', { redirect_uris: callback })).json).toEqual({
      error: 'invalid_client_metadata',
      error_description: 'Content-Type must be application/json',
    })
  })

  test('gives the client neither access for itself nor information about tokens of others', async () => {
    const { client_id, client_secret } = (await register({ redirect_uris })).json
    const registered = { client_id, client_secret }
    expect(
      (await requestToken(app, { grant_type: 'client_credentials', scope: 'readonly', ...registered })).json,
    ).toEqual({
      error: 'unauthorized_client',
      error_description:
        'client_credentials is only allowed for clients that an administrator has registered',
    })
    const defaultApp = '00000000-0000-0000-0000-000000000000'
    const other = await createClient(app, { appId: defaultApp })
    const { access_token, refresh_token } = await obtainTokens(app, user, other)
    for (const token of [access_token, refresh_token]) {
      const seen = await postForm(app, '/api/auth/introspect', { token, ...registered })
      expect([seen.status, seen.json]).toEqual([200, { active: false }])
    }
    const own = await obtainTokens(app, user, { clientId: client_id, clientSecret: client_secret })
    const form = { token: own.access_token, ...registered }
    expect((await postForm(app, '/api/auth/introspect', form)).json.active).toBe(true)
  })

  test('is limited by address, on all nodes', async () => {
    await using limited = await createOAuthApp({
      config: { ...flags, 'auth.oauth_provider.registrations_per_hour': '5' },
    })
    await using node = await createTestApp({
      config: { ...flags, 'auth.oauth_provider.registrations_per_hour': '5' },
      database: limited.database,
    })
    const attempts = Array.from({ length: 10 }, (_, index) =>
      register({ redirect_uris }, index % 2 === 0 ? limited : node),
    )
    const responses = await Promise.all(attempts)
    expect(responses.map(({ status }) => status).toSorted()).toEqual([
      ...Array(5).fill(201),
      ...Array(5).fill(429),
    ])
    const refused = responses.find(({ status }) => status === 429)
    expect(refused?.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(
      await limited.sql(`select 1 from basalt.oauth_clients where source = 'registration'`),
    ).toHaveLength(5)
  })

  test('is disabled by default', async () => {
    await using off = await createTestApp({
      config: { 'auth.oauth_provider.enabled': 'true' },
      database: app.database,
    })
    expect(envelope(await register({ redirect_uris }, off))).toEqual({
      code: 404,
      message: 'dynamic client registration is not enabled',
      error: 'client_registration_disabled',
    })
    const path = '/.well-known/oauth-authorization-server'
    expect(Object.keys((await off.request('GET', path)).json)).not.toContain('registration_endpoint')
    expect((await app.request('GET', path)).json).toMatchObject({
      registration_endpoint: `${app.url}/api/auth/clients`,
      client_id_metadata_document_supported: true,
    })
    await using none = await createTestApp({ database: app.database })
    expect(envelope(await register({ redirect_uris }, none)).message).toBe(
      'the OAuth provider is not enabled',
    )
  })
})

describe('oauth server › client metadata documents', () => {
  let count = 0
  /** Publishes a client with a document of its own. */
  function publish(more: object = {}, headers: Record<string, string> = {}) {
    count += 1
    const clientId = `https://client.example.com/oauth/${count}.json`
    const document = { client_id: clientId, client_name: 'Reader', redirect_uris: [callback], ...more }
    answerWith(clientId, {
      status: 200,
      text: JSON.stringify(document),
      headers: { ...jsonType, ...headers },
    })
    return { clientId, clientSecret: undefined } satisfies TestClient
  }
  const jsonType = { 'content-type': 'application/json; charset=utf-8' }
  function answerWith(clientId: string, answer: object): void {
    standIn.answers[`GET ${clientId.replace('https://', '')}`] = answer
  }
  const fetches = ({ clientId }: TestClient) =>
    standIn.requests.filter(({ address }) => address === clientId.replace('https://', '')).length
  const refusal = (problem: string) => ({
    error: 'invalid_client',
    error_description: `client metadata document: ${problem}`,
  })

  test('describe a client that users grant access, and that refreshes without another fetch', async () => {
    const client = publish()
    expect((await authorize(authorizationRequest(client, proof))).json).toMatchObject({
      requires_consent: true,
      client_id: client.clientId,
      client_name: 'Reader',
    })
    const tokens = await redeem(app, client, proof, await approveClient(app, user, client, proof))
    expect(tokens.status).toBe(200)
    expect((await refresh(app, client, tokens.json.refresh_token)).status).toBe(200)
    expect((await app.request('GET', '/api/schema', { token: tokens.json.access_token })).status).toBe(200)
    expect(fetches(client)).toBe(1)
    expect(await clientOf(client.clientId)).toMatchObject({
      clientId: client.clientId,
      source: 'document',
      clientType: 'public',
      redirectUris: [callback],
      scopes: ['readonly', 'readwrite'],
    })
    const grants = await app.request('GET', '/api/auth/grants', { token: user })
    expect(grants.json[0]).toMatchObject({ clientId: client.clientId, clientName: 'Reader' })
  })

  test.each([
    ['max-age=7200', 7200],
    ['public, max-age="300"', 300],
    ['max-age=1', 60],
    ['max-age=99999999', 86_400],
    ['no-store, max-age=7200', 60],
    ['', 3600],
  ])('with Cache-Control %j are used for %i s, then fetched again', async (control, seconds) => {
    const client = publish({}, control === '' ? {} : { 'cache-control': control })
    await authorize(authorizationRequest(client, proof))
    const [row] = await app.sql(
      `select round(extract(epoch from document_expires_at - updated_at))::int as seconds
      from basalt.oauth_clients where client_id = $1`,
      [client.clientId],
    )
    expect(row).toEqual({ seconds })
    await authorize(authorizationRequest(client, proof))
    expect(fetches(client)).toBe(1)
    await app.sql('update basalt.oauth_clients set document_expires_at = now() where client_id = $1', [
      client.clientId,
    ])
    const moved = 'https://client.example.com/moved'
    const document = { client_id: client.clientId, redirect_uris: [moved] }
    answerWith(client.clientId, { status: 200, text: JSON.stringify(document), headers: jsonType })
    expect((await authorize(authorizationRequest(client, proof))).json.error_description).toBe(
      'redirect_uri does not match registered URI',
    )
    expect(
      (await authorize(authorizationRequest(client, proof, { redirect_uri: moved }))).json.client_name,
    ).toBe('client.example.com')
    expect(fetches(client)).toBe(2)
  })

  test('are fetched once by ten concurrent requests', async () => {
    const client = publish()
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => authorize(authorizationRequest(client, proof))),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(fetches(client)).toBe(1)
    expect(
      await app.sql('select 1 from basalt.oauth_clients where client_id = $1', [client.clientId]),
    ).toHaveLength(1)
  })

  test.each<[object, string]>([
    [{ client_id: 'https://client.example.com/other' }, 'its client_id must be its own address'],
    [{ client_secret: 'x' }, 'it must not have a client_secret'],
    [{ client_secret_expires_at: 0 }, 'it must not have a client_secret'],
    [{ token_endpoint_auth_method: 'client_secret_basic' }, 'token_endpoint_auth_method must be none'],
    [{ token_endpoint_auth_method: 'private_key_jwt' }, 'token_endpoint_auth_method must be none'],
    [{ redirect_uris: undefined }, 'redirect_uris: expected a list of one to 100 addresses'],
    [
      { redirect_uris: ['https://evil.example/callback'] },
      'redirect_uris must be of https://client.example.com or of a loopback address: https://evil.example/callback',
    ],
    [
      { redirect_uris: ['https://client.example.com:8443/callback'] },
      'redirect_uris must be of https://client.example.com or of a loopback address: https://client.example.com:8443/callback',
    ],
    [
      { redirect_uris: ['com.example.app:/callback'] },
      'redirect URI must use http or https scheme: com.example.app:/callback',
    ],
    [{ scope: 'openid' }, 'scope: expected some of readonly, readwrite'],
    [{ response_types: ['token'] }, 'response_types: expected a list with code'],
    [{ padding: 'x'.repeat(5 * 1024) }, 'it is longer than 5120 bytes'],
  ])('are rejected with %j: %s', async (more, problem) => {
    const client = publish(more)
    const response = await authorize(authorizationRequest(client, proof))
    expect([response.status, response.json]).toEqual([401, refusal(problem)])
    expect(
      await app.sql('select 1 from basalt.oauth_clients where client_id = $1', [client.clientId]),
    ).toEqual([])
    // A faulty document is not remembered.
    await authorize(authorizationRequest(client, proof))
    expect(fetches(client)).toBe(2)
  })

  test.each<[object, string]>([
    [{ status: 404, text: '' }, 'status 404 instead of 200'],
    [{ status: 302, text: '', headers: { location: 'http://127.0.0.1/' } }, 'status 302 instead of 200'],
    [{ status: 200, text: '{}' }, 'its content type must be application/json'],
    [{ status: 200, text: '<html>', headers: jsonType }, 'it is no JSON object'],
    [{ status: 200, text: '[]', headers: jsonType }, 'it is no JSON object'],
    [{ status: 200, text: 'x'.repeat(100_000), headers: jsonType }, 'it is longer than 5120 bytes'],
  ])('are rejected as response %j: %s', async (answer, problem) => {
    const client = publish()
    answerWith(client.clientId, answer)
    const response = await authorize(authorizationRequest(client, proof))
    expect([response.status, response.json]).toEqual([401, refusal(problem)])
  })

  test('may describe loopback clients, and have another type of JSON', async () => {
    const client = publish(
      { redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'] },
      { 'content-type': 'application/oauth-client+json' },
    )
    const redirect_uri = 'http://127.0.0.1:6123/callback'
    expect((await authorize(authorizationRequest(client, proof, { redirect_uri }))).status).toBe(200)
    // A port with leading zeros is the same port. Any other address is compared by characters.
    const spelled = { redirect_uri: 'http://127.0.0.1:0006123/callback' }
    expect((await authorize(authorizationRequest(client, proof, spelled))).status).toBe(200)
    const beyond = await authorize(
      authorizationRequest(client, proof, { redirect_uri: 'http://127.0.0.1:70000/callback' }),
    )
    expect([beyond.status, beyond.json.error]).toEqual([400, 'invalid_request'])
  })

  test.each([
    'http://client.example.com/oauth.json',
    'https://client.example.com',
    'https://client.example.com/a/../oauth.json',
    'https://client.example.com/a/%2e%2E/oauth.json',
    'https://client.example.com/oauth.json#x',
    'https://user@client.example.com/oauth.json',
    'https://CLIENT.example.com/oauth.json',
    'https://client.example.com:443/oauth.json',
    'https:/client.example.com/oauth.json',
    `https://client.example.com/${'x'.repeat(2048)}`,
  ])('are not fetched from %s', async (clientId) => {
    const response = await authorize(authorizationRequest({ clientId, clientSecret: undefined }, proof))
    expect([response.status, response.json]).toEqual([
      401,
      { error: 'invalid_client', error_description: 'invalid client_id' },
    ])
    expect(standIn.requests).toEqual([])
  })

  test('are not fetched from private networks by a server with a public address', async () => {
    const names: Record<string, string> = {
      'inside.example.com': '10.0.0.5',
      'metadata.example.com': '169.254.169.254',
    }
    await using outside = await createOAuthApp({
      config: { ...many, 'server.public_base_url': 'https://api.example.com' },
      resolve: async (name) => {
        if (name === 'nowhere.example.com') throw new Error('getaddrinfo ENOTFOUND')
        return [{ address: names[name] ?? '127.0.0.1', family: 4 }]
      },
    })
    const refused = refusal('it cannot be fetched')
    for (const host of [
      '127.0.0.1',
      '10.1.2.3',
      '169.254.169.254',
      '[::1]',
      '[fd00::1]',
      '[::ffff:7f00:1]',
      'localhost',
      ...Object.keys(names),
      'nowhere.example.com',
    ]) {
      const client = { clientId: `https://${host}/oauth.json`, clientSecret: undefined }
      expect((await authorize(authorizationRequest(client, proof), outside)).json).toEqual(refused)
    }
  })

  test('are limited in number per address, which the page reports', async () => {
    await using limited = await createOAuthApp({
      config: { ...flags, 'auth.oauth_provider.registrations_per_hour': '3' },
      reachProvider: standIn.reachProvider,
    })
    const clients = Array.from({ length: 4 }, () => publish())
    const statuses: number[] = []
    for (const client of clients)
      statuses.push((await authorize(authorizationRequest(client, proof), limited)).status)
    expect(statuses).toEqual([200, 200, 200, 429])
    const [first, , , last] = clients.map((client) =>
      String(new URLSearchParams(authorizationRequest(client, proof))),
    )
    const page = await limited.request('GET', `/oauth/authorize?${last}`)
    expect([page.status, page.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)])
    expect(page.text).toContain('too many requests')
    // The request is malformed as well. Only the document would say where its error may be sent.
    const malformed = await limited.request('GET', `/oauth/authorize?${last}&response_type=token`)
    expect([malformed.status, malformed.headers.get('content-type')]).toEqual([
      429,
      expect.stringMatching(/^text\/html/),
    ])
    expect(malformed.headers.get('retry-after')).toMatch(/^\d+$/)
    expect((await limited.request('GET', `/oauth/authorize?${first}`)).status).toBe(200)
  })

  test('end grants with a scope that they no longer list', async () => {
    const client = publish()
    const narrow = await obtainTokens(app, user, client, { scope: 'readonly' })
    const wide = await obtainTokens(app, user, client, { scope: 'readwrite' })
    const statusOf = async (token: string) => (await app.request('GET', '/api/schema', { token })).status
    expect(await statusOf(wide.access_token)).toBe(200)
    const document = { client_id: client.clientId, redirect_uris: [callback], scope: 'readonly' }
    answerWith(client.clientId, { status: 200, text: JSON.stringify(document), headers: jsonType })
    await app.sql('update basalt.oauth_clients set document_expires_at = now() where client_id = $1', [
      client.clientId,
    ])
    expect((await authorize(authorizationRequest(client, proof, { scope: 'readonly' }))).status).toBe(200)
    await expect.poll(() => statusOf(wide.access_token)).toBe(401)
    expect((await refresh(app, client, wide.refresh_token)).json.error).toBe('invalid_grant')
    expect(await statusOf(narrow.access_token)).toBe(200)
    expect((await refresh(app, client, narrow.refresh_token)).status).toBe(200)
  })

  test('stay revoked, and cannot be changed by the administrator', async () => {
    const client = publish()
    await authorize(authorizationRequest(client, proof))
    const path = `/api/admin/oauth/clients/${encodeURIComponent(client.clientId)}`
    const body = { name: 'x', redirectUris: [callback], scopes: ['*'] }
    expect(envelope(await app.request('PUT', path, { token: admin, body })).message).toBe(
      'oauth client is described by its metadata document',
    )
    expect(envelope(await app.request('POST', `${path}/rotate-secret`, { token: admin })).message).toBe(
      'cannot regenerate secret for public client',
    )
    expect((await app.request('DELETE', path, { token: admin })).status).toBe(204)
    await app.sql('update basalt.oauth_clients set document_expires_at = now() where client_id = $1', [
      client.clientId,
    ])
    expect((await authorize(authorizationRequest(client, proof))).json.error_description).toBe(
      'client has been revoked',
    )
    expect(fetches(client)).toBe(1)
  })

  test('are not read by default', async () => {
    await using off = await createTestApp({
      config: { 'auth.oauth_provider.enabled': 'true' },
      database: app.database,
      reachProvider: standIn.reachProvider,
    })
    const client = publish()
    expect((await authorize(authorizationRequest(client, proof), off)).json.error_description).toBe(
      'invalid client_id',
    )
    expect(fetches(client)).toBe(0)
    const { json: metadata } = await off.request('GET', '/.well-known/oauth-authorization-server')
    expect(Object.keys(metadata)).not.toContain('client_id_metadata_document_supported')
  })
})

test('oauth server › removes clients without a consent for a month, except those of administrators', async () => {
  const register = async () =>
    (await app.request('POST', '/api/auth/clients', { body: { redirect_uris: [callback] } })).json
  const [unused, used, revoked] = [await register(), await register(), await register()]
  const registered = await createClient(app)
  await obtainTokens(app, user, { clientId: used.client_id, clientSecret: used.client_secret })
  await app.sql('update basalt.oauth_clients set revoked_at = now() where client_id = $1', [
    revoked.client_id,
  ])
  await app.sql(`update basalt.oauth_clients set updated_at = now() - interval '31 days'`)
  const { deleteExpiredGrants } = await import('../token/grants.ts')
  await deleteExpiredGrants(app.app.database.system)
  const left = await app.sql<{ client_id: string }>('select client_id from basalt.oauth_clients')
  const ids = left.map(({ client_id }) => client_id)
  expect(ids).not.toContain(unused.client_id)
  for (const id of [used.client_id, revoked.client_id, registered.clientId]) expect(ids).toContain(id)
})
