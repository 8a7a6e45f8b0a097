import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiKey } from '../../../../../test/api-keys.ts'
import { alice, bob } from '../../../../../test/fixtures.ts'
import {
  approveClient,
  authorizationRequest,
  callback,
  createClient,
  createOAuthApp,
  createProof,
  obtainTokens,
  redeem,
  type TestClient,
} from '../../../../../test/oauth.ts'
import { envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
let client: TestClient
const user = userToken({ sub: alice, email: 'alice@example.com' })
const proof = createProof()
const json = { accept: 'application/json' }

beforeAll(async () => {
  app = await createOAuthApp()
  await app.sql('insert into basalt.users (id) values ($1)', [bob])
  client = await createClient(app, { redirectUris: [callback, 'http://127.0.0.1/native'] })
})
afterAll(() => app[Symbol.asyncDispose]())

function authorize(parameters: object | string, token = user, headers: Record<string, string> = json) {
  const pairs = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined)
  const query = typeof parameters === 'string' ? parameters : new URLSearchParams(pairs)
  return app.request('GET', `/api/auth/authorize?${query}`, { token, headers })
}

const consent = (body: object | string, token = user, headers: Record<string, string> = json) =>
  app.request('POST', '/api/auth/authorize/consent', { token, body, headers })

describe('GET /api/auth/authorize', () => {
  test('describes the required consent', async () => {
    const requested = authorizationRequest(client, proof, { scope: 'readonly', state: 'a b\r\nc' })
    const response = await authorize({ ...requested, allowed_tables: 'note,task' })
    const { response_type: _, ...echoed } = requested
    expect([response.status, response.json]).toEqual([
      200,
      { requires_consent: true, client_name: 'Client', ...echoed, allowed_tables: ['note', 'task'] },
    ])
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test.each<[object, number, string, string]>([
    [{ response_type: 'token' }, 400, 'invalid_request', 'response_type must be code'],
    [{ client_id: undefined }, 400, 'invalid_request', 'client_id is required'],
    [{ redirect_uri: '' }, 400, 'invalid_request', 'redirect_uri is required'],
    [{ scope: undefined }, 400, 'invalid_scope', 'scope is required'],
    [{ state: undefined }, 400, 'invalid_request', 'state is required'],
    [{ state: 'é'.repeat(1025) }, 400, 'invalid_request', 'state: at most 2048 bytes'],
    [{ code_challenge: undefined }, 400, 'invalid_request', 'code_challenge is required'],
    [{ code_challenge_method: undefined }, 400, 'invalid_request', 'code_challenge_method must be S256'],
    [{ code_challenge_method: 'plain' }, 400, 'invalid_request', 'code_challenge_method must be S256'],
    [
      { code_challenge: 'x' },
      400,
      'invalid_request',
      'code_challenge must be a SHA-256 in base64url without padding',
    ],
    [{ client_id: 'x' }, 401, 'invalid_client', 'invalid client_id'],
    [{ scope: 'read write' }, 400, 'invalid_scope', 'requested scope is not allowed for this client'],
    [{ resource: 'https://elsewhere.example.com' }, 400, 'invalid_target', 'resource must be'],
  ])('rejects %j: %s %s: %s', async (change, status, error, description) => {
    const requested = { ...authorizationRequest(client, proof), ...change }
    const expected = { error, error_description: expect.stringContaining(description) }
    const response = await authorize(requested)
    expect([response.status, response.json]).toEqual([status, expected])
    const { allowed_tables: _, ...body } = { allowed_tables: undefined, ...requested, decision: 'approve' }
    const again = await consent(body)
    expect([again.status, again.json]).toEqual([status, expected])
  })

  test.each([
    `${callback}/`,
    `${callback}/../other`,
    `${callback}x`,
    `${callback}?x=y`,
    `${callback}#x`,
    'https://client.example.com%2Fcallback',
    'https://client.example.com/%63allback',
    'https://client.example.com/./callback',
    'https://client.example.com:443/callback',
    'https://CLIENT.example.com/callback',
    'http://client.example.com/callback',
    'https://client.example.com.evil.example/callback',
    'https://client.example.com@evil.example/callback',
    'https://evil.example/https://client.example.com/callback',
    'http://127.0.0.1/other',
    'http://127.0.0.1:80@evil.example/native',
    'http://127.0.0.1.evil.example/native',
    'http://localhost/native',
    'http://127.0.0.2:3000/native',
    'http://127.0.0.1:3000/native/../x',
    'https://127.0.0.1:3000/native',
    'http://127.0.0.1:65536/native',
    'http://127.0.0.1:99999999999/native',
  ])('rejects the redirect address %s', async (redirect_uri) => {
    const response = await authorize(authorizationRequest(client, proof, { redirect_uri }))
    expect([response.status, response.json.error_description]).toEqual([
      400,
      'redirect_uri does not match registered URI',
    ])
  })

  test('accepts a loopback address with any port, as RFC 8252 says', async () => {
    for (const redirect_uri of ['http://127.0.0.1/native', 'http://127.0.0.1:51004/native']) {
      expect((await authorize(authorizationRequest(client, proof, { redirect_uri }))).status).toBe(200)
    }
  })

  test.each<[object, string]>([
    [{ client_id: `basalt_cid_${'0'.repeat(49)}` }, 'invalid client_id'],
    [{ redirect_uri: 'https://evil.example/' }, 'redirect_uri does not match registered URI'],
    [{ scope: 'all' }, 'requested scope is not allowed for this client'],
  ])('checks the client before the form of challenge and state: %j', async (change, description) => {
    const requested = authorizationRequest(client, proof, {
      code_challenge: 'short',
      state: 'x'.repeat(3000),
      ...change,
    })
    expect((await authorize(requested)).json.error_description).toBe(description)
  })

  test('ignores unknown parameters, as RFC 6749 says', async () => {
    expect(
      (await authorize(authorizationRequest(client, proof, { nonce: 'x', prompt: 'login' }))).status,
    ).toBe(200)
  })

  test.each(['client_id', 'redirect_uri', 'scope', 'state'])('rejects a repeated %s', async (name) => {
    const query = new URLSearchParams(authorizationRequest(client, proof))
    query.append(name, query.get(name) ?? '')
    const response = await authorize(String(query))
    expect([response.status, response.json.error]).toEqual([400, 'invalid_request'])
  })

  test('rejects a revoked client, and one that does not list the scope', async () => {
    const revoked = await createClient(app)
    await app.sql('update basalt.oauth_clients set revoked_at = now() where client_id = $1', [
      revoked.clientId,
    ])
    expect((await authorize(authorizationRequest(revoked, proof))).json).toEqual({
      error: 'invalid_client',
      error_description: 'client has been revoked',
    })
    const reader = await createClient(app, { scopes: ['readonly'] })
    for (const scope of ['readwrite', '*']) {
      expect((await authorize(authorizationRequest(reader, proof, { scope }))).json.error).toBe(
        'invalid_scope',
      )
    }
  })

  test('rejects API keys, tokens of clients and callers without a token', async () => {
    const { key } = await createApiKey(app, { userId: alice })
    const { access_token } = await obtainTokens(app, user, await createClient(app))
    for (const token of [key, access_token]) {
      expect(envelope(await authorize(authorizationRequest(client, proof), token)).error).toBe(
        'insufficient_scope',
      )
      expect(envelope(await consent({}, token)).error).toBe('insufficient_scope')
    }
    expect((await app.request('GET', '/api/auth/authorize')).status).toBe(401)
  })
})

describe('POST /api/auth/authorize/consent', () => {
  test('redirects with a code, the state and the issuer', async () => {
    const body = { decision: 'approve', ...authorizationRequest(client, proof) }
    const response = await consent(body)
    expect([response.status, Object.keys(response.json)]).toEqual([200, ['requires_consent', 'redirect_to']])
    const url = new URL(response.json.redirect_to)
    expect(url.origin + url.pathname).toBe(callback)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      code: expect.stringMatching(/^basalt_code_/),
      state: 'state',
      iss: app.url,
    })
    const redirected = await fetch(`${app.url}/api/auth/authorize/consent`, {
      method: 'POST',
      redirect: 'manual',
      headers: { authorization: `Bearer ${user}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect([redirected.status, redirected.headers.get('location')]).toEqual([
      302,
      expect.stringContaining(`${callback}?code=basalt_code_`),
    ])
  })

  test('redirects with access_denied', async () => {
    const response = await consent({ decision: 'deny', ...authorizationRequest(client, proof) })
    expect(Object.fromEntries(new URL(response.json.redirect_to).searchParams)).toEqual({
      error: 'access_denied',
      error_description: 'resource owner denied access',
      state: 'state',
      iss: app.url,
    })
  })

  test.each([
    [{ allowed_tables: 'note' }, 'allowed_tables: must be array'],
    [{ client_id: ['x'] }, 'client_id: must be string'],
  ])('names a malformed member: %j', async (more, error_description) => {
    expect(
      (await consent({ decision: 'approve', ...authorizationRequest(client, proof, more) })).json,
    ).toEqual({
      error: 'invalid_request',
      error_description,
    })
  })

  test('requires a decision', async () => {
    for (const decision of [undefined, 'maybe']) {
      expect((await consent({ decision, ...authorizationRequest(client, proof) })).json).toEqual({
        error: 'invalid_request',
        error_description: 'decision must be approve or deny',
      })
    }
    expect(
      (await consent({ decision: 'approve', ...authorizationRequest(client, proof), state: 5 })).json.error,
    ).toBe('invalid_request')
  })

  test('rejects malformed JSON with a protocol error', async () => {
    for (const body of ['{', '[]', '"approve"']) {
      const response = await consent(body)
      expect([response.status, response.json]).toEqual([
        400,
        { error: 'invalid_request', error_description: expect.any(String) },
      ])
    }
  })

  test.each([
    ['readwrite', [], 'readonly', [], true],
    ['readwrite', [], 'readwrite', ['note'], true],
    ['readonly', [], 'readwrite', [], false],
    ['*', ['note', 'task'], '*', ['task'], true],
    ['*', ['note'], 'readonly', [], false],
    ['*', ['note'], 'readonly', ['task'], false],
  ] as const)(
    'covers with a consent to %s of %j a request for %s of %j: %s',
    async (scope, tables, requested, requestedTables, isCovered) => {
      const fresh = await createClient(app)
      await approveClient(app, user, fresh, proof, { scope, allowed_tables: tables })
      const query = {
        ...authorizationRequest(fresh, proof, { scope: requested }),
        allowed_tables: requestedTables.join(','),
      }
      const response = await authorize(query)
      expect([response.status, response.json.requires_consent]).toEqual([200, !isCovered])
      const bobs = await authorize(query, userToken({ sub: bob }))
      expect(bobs.json.requires_consent).toBe(true)
    },
  )

  test('redirects a browser at once after an earlier consent', async () => {
    const fresh = await createClient(app)
    await approveClient(app, user, fresh, proof)
    const query = new URLSearchParams(authorizationRequest(fresh, proof))
    const response = await fetch(`${app.url}/api/auth/authorize?${query}`, {
      redirect: 'manual',
      headers: { authorization: `Bearer ${user}` },
    })
    expect(response.status).toBe(302)
    const code = new URL(response.headers.get('location') ?? '').searchParams.get('code') ?? ''
    expect((await redeem(app, fresh, proof, code)).status).toBe(200)
  })

  test('rejects a user who is deleted in the meantime', async () => {
    const [deleted] = await app.sql<{ id: string }>('insert into basalt.users default values returning id')
    const token = userToken({ sub: deleted?.id ?? '' })
    await app.sql('alter table basalt.users disable trigger users_deleted')
    await app.sql('delete from basalt.users where id = $1', [deleted?.id])
    await app.sql('alter table basalt.users enable trigger users_deleted')
    const response = await consent({ decision: 'approve', ...authorizationRequest(client, proof) }, token)
    expect(envelope(response)).toMatchObject({ code: 401, error: 'invalid_token' })
  })
})

describe('oauth server › state', () => {
  const pieces = ['\r', '\n', '&', '=', '+', '%', '"', '<', ' ', 'é', '😀', '\0', '#', '?']
  test.each([
    ['of CR and LF', '\r\n'.repeat(1024)],
    ['of everything', pieces.join('').repeat(60)],
    ['that looks encoded', '%0D%0A+%2B'],
  ])('%s is returned exactly', async (_what, state) => {
    const fresh = await createClient(app)
    const { redirect_to } = (
      await consent({ decision: 'approve', ...authorizationRequest(fresh, proof, { state }) })
    ).json
    expect(new URL(redirect_to).searchParams.get('state')).toBe(state)
    const again = (await authorize(authorizationRequest(fresh, proof, { state }))).json.redirect_to
    expect(new URL(again).searchParams.get('state')).toBe(state)
  })

  test('is returned unchanged if its bytes are not text', async () => {
    const fresh = await createClient(app)
    await approveClient(app, user, fresh, proof)
    const query = new URLSearchParams(authorizationRequest(fresh, proof, { state: undefined }))
    query.delete('state')
    const { redirect_to } = (await authorize(`${query}&state=%FF%00%80a`)).json
    expect(redirect_to).toMatch(/&state=%FF%00%80a$/)
  })
})
