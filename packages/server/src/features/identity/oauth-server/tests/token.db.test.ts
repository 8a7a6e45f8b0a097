import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import {
  approveClient,
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
import { type TestApp, type TestResponse, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
let client: TestClient
let open: TestClient
const user = userToken({ sub: alice })
const unknownId = `basalt_cid_${'0'.repeat(49)}`

beforeAll(async () => {
  app = await createOAuthApp()
  client = await createClient(app)
  open = await createClient(app, { clientType: 'public' })
})
afterAll(() => app[Symbol.asyncDispose]())

const answer = ({ status, json }: TestResponse) => [status, json]
const refused = (error: string, error_description: string) => [
  error === 'invalid_client' ? 401 : 400,
  { error, error_description },
]
const credentials = () => ({ client_id: client.clientId, client_secret: client.clientSecret })
const refreshWith = (refresh_token: string, scope: string) =>
  requestToken(app, { grant_type: 'refresh_token', refresh_token, scope, ...credentials() })
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
})

describe('POST /api/auth/token', () => {
  test('redeems a code', async () => {
    const proof = createProof()
    const code = await approveClient(app, user, client, proof, { allowed_tables: ['note'] })
    const response = await redeem(app, client, proof, code)
    expect(answer(response)).toEqual([
      200,
      {
        access_token: expect.stringMatching(/^basalt_at_[0-9A-Za-z]{49}$/),
        token_type: 'Bearer',
        expires_in: 3600,
        refresh_token: expect.stringMatching(/^basalt_rt_/),
        scope: 'readwrite',
        allowed_tables: ['note'],
      },
    ])
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('pragma')).toBe('no-cache')
    const stored = await app.sql(
      'select c::text, g::text as g, t::text as t from basalt.oauth_codes c, basalt.oauth_grants g, basalt.oauth_access_tokens t',
    )
    for (const secret of [code, response.json.access_token, response.json.refresh_token]) {
      expect(JSON.stringify(stored)).not.toContain(secret.slice(-30))
    }
  })

  test('accepts the secret by HTTP Basic, and a public client without one', async () => {
    const proof = createProof()
    const form = { grant_type: 'authorization_code', redirect_uri: callback, code_verifier: proof.verifier }
    const code = await approveClient(app, user, client, proof)
    const headers = basic(client.clientId, client.clientSecret ?? '')
    expect((await postForm(app, '/api/auth/token', { ...form, code }, headers)).status).toBe(200)
    expect((await redeem(app, open, proof, await approveClient(app, user, open, proof))).status).toBe(200)
  })

  test.each<[() => Record<string, string | undefined>, string, string]>([
    [() => ({}), 'invalid_request', 'grant_type is required'],
    [
      () => ({ ...credentials(), grant_type: 'password' }),
      'unsupported_grant_type',
      'unsupported grant_type',
    ],
    [() => ({ client_secret: 'x' }), 'invalid_client', 'client_id is required'],
    [() => ({ client_id: 'x', client_secret: 'x' }), 'invalid_client', 'unknown client'],
    [() => ({ client_id: unknownId, client_secret: 'x' }), 'invalid_client', 'unknown client'],
    [() => ({ client_id: client.clientId }), 'invalid_client', 'client authentication required'],
    [() => ({ ...credentials(), client_secret: 'x' }), 'invalid_client', 'invalid client credentials'],
    [
      () => ({ client_id: open.clientId, client_secret: 'x' }),
      'invalid_client',
      'invalid client authentication',
    ],
    [() => credentials(), 'invalid_request', 'code is required'],
    [() => ({ ...credentials(), code: 'x' }), 'invalid_request', 'redirect_uri is required'],
    [
      () => ({ ...credentials(), code: 'x', redirect_uri: callback }),
      'invalid_request',
      'code_verifier is required',
    ],
    [
      () => ({ ...credentials(), code: 'x', redirect_uri: callback, code_verifier: 'x' }),
      'invalid_grant',
      'invalid authorization code',
    ],
    [
      () => ({ ...credentials(), grant_type: 'refresh_token' }),
      'invalid_request',
      'refresh_token is required',
    ],
    [
      () => ({ ...credentials(), grant_type: 'refresh_token', refresh_token: 'basalt_rt_x' }),
      'invalid_grant',
      'invalid refresh token',
    ],
    [() => ({ ...credentials(), grant_type: 'client_credentials' }), 'invalid_scope', 'scope is required'],
    [
      () => ({ ...credentials(), grant_type: 'client_credentials', scope: 'all' }),
      'invalid_scope',
      'requested scope is not allowed for this client',
    ],
    [
      () => ({ client_id: open.clientId, grant_type: 'client_credentials', scope: '*' }),
      'unauthorized_client',
      'client_credentials is only allowed for confidential clients',
    ],
    [
      () => ({
        ...credentials(),
        grant_type: 'client_credentials',
        scope: '*',
        resource: 'https://a.example',
      }),
      'invalid_target',
      'resource must be',
    ],
  ])('rejects a form %#: %s: %s', async (form, error, description) => {
    const isWithoutGrantType = description === 'grant_type is required'
    const response = await requestToken(app, {
      ...(isWithoutGrantType ? {} : { grant_type: 'authorization_code' }),
      ...form(),
    })
    const [status] = refused(error, description)
    expect(answer(response)).toEqual([
      status,
      { error, error_description: expect.stringContaining(description) },
    ])
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test('rejects a revoked client', async () => {
    const revoked = await createClient(app)
    await app.sql('update basalt.oauth_clients set revoked_at = now() where client_id = $1', [
      revoked.clientId,
    ])
    const form = { grant_type: 'client_credentials', scope: '*', client_id: revoked.clientId }
    expect(answer(await requestToken(app, { ...form, client_secret: revoked.clientSecret }))).toEqual(
      refused('invalid_client', 'client has been revoked'),
    )
  })

  test('rejects two methods of authentication, and names the scheme after a wrong one', async () => {
    const form = { grant_type: 'client_credentials', scope: '*' }
    const right = basic(client.clientId, client.clientSecret ?? '')
    expect(answer(await postForm(app, '/api/auth/token', { ...form, ...credentials() }, right))).toEqual(
      refused('invalid_request', 'multiple client authentication methods are not allowed'),
    )
    for (const headers of [
      basic(client.clientId, 'x'),
      { authorization: 'Basic ?' },
      { authorization: 'Bearer x' },
    ]) {
      const response = await postForm(app, '/api/auth/token', form, headers)
      expect([response.status, response.json.error]).toEqual([401, 'invalid_client'])
      expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm=/)
    }
  })

  test('rejects a body that is not a form, and repeated parameters', async () => {
    const noForm = refused('invalid_request', 'Content-Type must be application/x-www-form-urlencoded')
    for (const contentType of ['/', 'form', 'application/x-www-form-urlencoded, application/json']) {
      const headers = { 'content-type': contentType }
      expect(answer(await app.request('POST', '/api/auth/token', { body: 'a=b', headers }))).toEqual(noForm)
    }
    for (const path of ['token', 'revoke', 'introspect']) {
      expect(answer(await app.request('POST', `/api/auth/${path}`, { body: { token: 'x' } }))).toEqual(noForm)
      expect(answer(await app.request('POST', `/api/auth/${path}`))).toEqual(noForm)
    }
    const twice = new URLSearchParams('grant_type=refresh_token&grant_type=client_credentials')
    expect(answer(await postForm(app, '/api/auth/token', twice))).toEqual(
      refused('invalid_request', 'grant_type must not be repeated'),
    )
  })

  test('accepts a form of many parameters, and rejects one beyond 64 KiB', async () => {
    const names = (count: number) =>
      new URLSearchParams(Array.from({ length: count }, (_, i): [string, string] => [`${i}`, '']))
    expect(answer(await postForm(app, '/api/auth/token', names(8000)))).toEqual(
      refused('invalid_request', 'grant_type is required'),
    )
    expect((await postForm(app, '/api/auth/token', names(20_000))).status).toBe(413)
  })

  test('does not consume the code when a check fails', async () => {
    const proof = createProof()
    const code = await approveClient(app, user, client, proof)
    const other = await createClient(app)
    expect(answer(await redeem(app, other, proof, code))).toEqual(
      refused('invalid_grant', 'client_id mismatch'),
    )
    expect(answer(await redeem(app, client, createProof(), code))).toEqual(
      refused('invalid_grant', 'PKCE verification failed'),
    )
    const form = { grant_type: 'authorization_code', code, code_verifier: proof.verifier, ...credentials() }
    expect(answer(await requestToken(app, { ...form, redirect_uri: `${callback}/` }))).toEqual(
      refused('invalid_grant', 'redirect_uri mismatch'),
    )
    expect((await redeem(app, client, proof, code)).status).toBe(200)
  })

  test('rejects an expired code, and one of a disabled user', async () => {
    const proof = createProof()
    const code = await approveClient(app, user, client, proof)
    await app.sql(`update basalt.oauth_codes set expires_at = now() - interval '1 s' where used_at is null`)
    expect(answer(await redeem(app, client, proof, code))).toEqual(
      refused('invalid_grant', 'authorization code expired'),
    )
    const [row] = await app.sql<{ id: string }>('insert into basalt.users default values returning id')
    const id = row?.id ?? ''
    const theirs = await approveClient(app, userToken({ sub: id }), client, proof)
    await app.sql('update basalt.users set disabled_at = now() where id = $1', [id])
    expect(answer(await redeem(app, client, proof, theirs))).toEqual(
      refused('invalid_grant', 'invalid authorization code'),
    )
  })

  test('accepts the verifier of RFC 7636, appendix B', async () => {
    const proof = {
      verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
      challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    }
    expect((await redeem(app, client, proof, await approveClient(app, user, client, proof))).status).toBe(200)
  })
})

describe('POST /api/auth/token › client credentials', () => {
  test('return a token without a refresh token', async () => {
    const form = { grant_type: 'client_credentials', scope: 'readonly', ...credentials() }
    expect(answer(await requestToken(app, { ...form, allowed_tables: 'note, task' }))).toEqual([
      200,
      {
        access_token: expect.stringMatching(/^basalt_at_/),
        token_type: 'Bearer',
        expires_in: 3600,
        scope: 'readonly',
        allowed_tables: ['note', 'task'],
      },
    ])
  })
})

describe('POST /api/auth/token › refresh', () => {
  test('replaces the token', async () => {
    const before = await obtainTokens(app, user, client, { scope: 'readonly' })
    const response = await refresh(app, client, before.refresh_token)
    expect(response.json).toMatchObject({ scope: 'readonly', expires_in: 3600, token_type: 'Bearer' })
    expect(response.json.refresh_token).not.toBe(before.refresh_token)
    expect(response.json.access_token).not.toBe(before.access_token)
  })

  test('rejects a scope beyond the granted one, without consuming the token', async () => {
    const { refresh_token } = await obtainTokens(app, user, client, { scope: 'readonly' })
    for (const scope of ['*', 'readwrite', 'readonly readwrite', 'openid']) {
      expect(answer(await refreshWith(refresh_token, scope))).toEqual(
        refused('invalid_scope', 'requested scope exceeds the granted one'),
      )
    }
    expect((await refreshWith(refresh_token, 'readonly')).status).toBe(200)
  })

  test('narrows only the access token to the requested scope, not the refresh token', async () => {
    const { refresh_token } = await obtainTokens(app, user, client, { scope: 'readwrite' })
    const narrow = (await refreshWith(refresh_token, 'readonly')).json
    expect(narrow.scope).toBe('readonly')
    const { json: replay } = await refresh(app, client, refresh_token)
    expect([replay.access_token, replay.scope]).toEqual([narrow.access_token, 'readonly'])
    const introspected = async (token: string) =>
      (await postForm(app, '/api/auth/introspect', { token, ...credentials() })).json.scope
    expect(await introspected(narrow.access_token)).toBe('readonly')
    expect(await introspected(narrow.refresh_token)).toBe('readwrite')
    const write = await app.request('POST', '/api/collections/missing', {
      token: narrow.access_token,
      body: {},
    })
    expect(write.json.message).toBe('access token scope does not permit write operations')
    expect((await refresh(app, client, narrow.refresh_token)).json.scope).toBe('readwrite')
  })

  test('returns the same successor for a replay within 10 s', async () => {
    const { refresh_token } = await obtainTokens(app, user, client)
    const first = (await refresh(app, client, refresh_token)).json
    const again = (await refresh(app, client, refresh_token)).json
    expect([again.access_token, again.refresh_token]).toEqual([first.access_token, first.refresh_token])
  })

  test('keeps a revoked access token revoked when a replay returns it again', async () => {
    const { refresh_token } = await obtainTokens(app, user, client)
    const { access_token: token } = (await refresh(app, client, refresh_token)).json
    await postForm(app, '/api/auth/revoke', { token })
    expect((await refresh(app, client, refresh_token)).json.access_token).toBe(token)
    await using other = await createOAuthApp({ database: app.database })
    expect((await other.request('GET', '/api/schema', { token })).status).toBe(401)
  })

  test('revokes the grant when a token is replayed later', async () => {
    const { refresh_token, access_token } = await obtainTokens(app, user, client)
    const { json } = await refresh(app, client, refresh_token)
    await app.sql(`update basalt.oauth_grants set rotations = array(
      select at - interval '11 s' from unnest(rotations) as at)`)
    const theft = refused('invalid_grant', 'refresh token has been revoked (possible token theft)')
    expect(answer(await refresh(app, client, refresh_token))).toEqual(theft)
    expect(answer(await refresh(app, client, json.refresh_token))).toEqual(theft)
    for (const token of [access_token, json.access_token]) {
      expect((await app.request('GET', '/api/schema', { token })).status).toBe(401)
    }
  })

  test('does not prolong a grant beyond its absolute expiry', async () => {
    const { refresh_token } = await obtainTokens(app, user, client)
    await app.sql(`update basalt.oauth_grants set created_at = now() - interval '364 days 23 hours'
      where revoked_at is null`)
    expect((await refresh(app, client, refresh_token)).status).toBe(200)
    const [grant] = await app.sql<{ ends: boolean }>(
      `
      select expires_at = created_at + interval '365 days' as ends
      from basalt.oauth_grants where client_id = (select id from basalt.oauth_clients where client_id = $1)
      order by last_issued_at desc limit 1`,
      [client.clientId],
    )
    expect(grant).toEqual({ ends: true })
  })

  test('rejects the token of another client, which stays valid', async () => {
    const { refresh_token } = await obtainTokens(app, user, client)
    const other = await createClient(app)
    expect(answer(await refresh(app, other, refresh_token))).toEqual(
      refused('invalid_grant', 'client_id mismatch'),
    )
    expect((await refresh(app, client, refresh_token)).status).toBe(200)
  })

  test('rejects a token that has expired, of a disabled user, or of a session', async () => {
    const { refresh_token } = await obtainTokens(app, user, client)
    await app.sql(`update basalt.oauth_grants set expires_at = now() - interval '1 s'`)
    expect(answer(await refresh(app, client, refresh_token))).toEqual(
      refused('invalid_grant', 'refresh token expired'),
    )
    const register = { email: 'carol@example.com', password: 'tangerine-harbour-42' }
    const { refreshToken, token } = (await app.request('POST', '/api/auth/register', { body: register })).json
    expect(answer(await refresh(app, client, refreshToken))).toEqual(
      refused('invalid_grant', 'invalid refresh token'),
    )
    const theirs = await obtainTokens(app, token, client)
    await app.sql(`update basalt.users set disabled_at = now() where email = 'carol@example.com'`)
    expect(answer(await refresh(app, client, theirs.refresh_token))).toEqual(
      refused('invalid_grant', 'invalid refresh token'),
    )
    const asSession = await app.request('POST', '/api/auth/refresh', {
      body: { refreshToken: refresh_token },
    })
    expect(asSession.status).toBe(401)
  })
})

describe('POST /api/auth/revoke', () => {
  test('ends only an access token, and the whole grant of a refresh token', async () => {
    const { access_token, refresh_token } = await obtainTokens(app, user, client)
    const status = async (token: string) => (await app.request('GET', '/api/schema', { token })).status
    expect(await status(access_token)).toBe(200)
    const response = await postForm(app, '/api/auth/revoke', { token: access_token, token_type_hint: 'x' })
    expect([response.status, response.json]).toEqual([200, {}])
    expect(await status(access_token)).toBe(401)
    const { json } = await refresh(app, client, refresh_token)
    expect(await status(json.access_token)).toBe(200)
    expect((await postForm(app, '/api/auth/revoke', { token: json.refresh_token })).status).toBe(200)
    expect(await status(json.access_token)).toBe(401)
    expect((await refresh(app, client, json.refresh_token)).json.error).toBe('invalid_grant')
  })

  test('accepts an unknown token and rejects a missing one', async () => {
    for (const token of ['x', `basalt_at_${'0'.repeat(49)}`, 'basalt_rt_x']) {
      expect((await postForm(app, '/api/auth/revoke', { token })).status).toBe(200)
    }
    expect(answer(await postForm(app, '/api/auth/revoke', {}))).toEqual(
      refused('invalid_request', 'token is required'),
    )
  })
})

describe('POST /api/auth/introspect', () => {
  const introspect = (token: string, by: TestClient = client) =>
    postForm(app, '/api/auth/introspect', {
      token,
      client_id: by.clientId,
      client_secret: by.clientSecret,
    })

  test('describes a token', async () => {
    const { access_token, refresh_token } = await obtainTokens(app, user, client)
    const about = {
      active: true,
      scope: 'readwrite',
      client_id: client.clientId,
      username: 'alice@example.com',
      exp: expect.any(Number),
      iat: expect.any(Number),
      sub: alice,
      aud: app.url,
      iss: app.url,
    }
    const access = (await introspect(access_token)).json
    expect(access).toEqual({ ...about, token_type: 'Bearer' })
    expect(access.exp - access.iat).toBe(3600)
    expect((await introspect(refresh_token)).json).toEqual(about)
    await refresh(app, client, refresh_token)
    expect((await introspect(refresh_token)).json).toEqual({ active: false })
  })

  test('reveals nothing about tokens of other apps, about unknown ones, or to public clients', async () => {
    const { access_token } = await obtainTokens(app, user, client)
    const stranger = await createClient(app)
    const sibling = await createClient(app, { appId: (await detailsOf(client)).appId })
    expect((await introspect(access_token, stranger)).json).toEqual({ active: false })
    expect((await introspect(access_token, sibling)).json.active).toBe(true)
    for (const token of ['x', user]) expect((await introspect(token)).json).toEqual({ active: false })
    expect((await introspect(access_token, open)).json.error).toBe('unauthorized_client')
    expect((await introspect(access_token, { ...client, clientSecret: 'x' })).status).toBe(401)
    await postForm(app, '/api/auth/revoke', { token: access_token })
    expect((await introspect(access_token)).json).toEqual({ active: false })
  })

  const detailsOf = async ({ clientId }: TestClient) =>
    (await app.request('GET', `/api/admin/oauth/clients/${clientId}`, { token: await app.adminToken() })).json
})

test('oauth server › removes expired rows, except those that detect a replay', async () => {
  const { refresh_token } = await obtainTokens(app, user, client)
  await app.sql(`update basalt.oauth_access_tokens set expires_at = now() - interval '2 hours'`)
  const { deleteExpiredGrants } = await import('../token/grants.ts')
  await deleteExpiredGrants(app.app.database.system)
  expect(await app.sql('select 1 from basalt.oauth_access_tokens')).toEqual([])
  expect((await refresh(app, client, refresh_token)).status).toBe(200)
  await app.sql(`update basalt.oauth_grants set expires_at = now() - interval '2 days'`)
  await app.sql(`update basalt.oauth_codes set expires_at = now() - interval '2 days'`)
  await deleteExpiredGrants(app.app.database.system)
  expect(await app.sql('select 1 from basalt.oauth_grants')).toEqual([])
  expect(await app.sql('select 1 from basalt.oauth_codes')).toEqual([])
})
