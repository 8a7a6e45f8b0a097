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
import { envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
let admin: string
/** Client that may send mail, but no text messages. */
let client: TestClient
const user = userToken({ sub: alice })
const scopes = ['*', 'email:send', 'push:send']

beforeAll(async () => {
  app = await createOAuthApp({ config: { 'auth.oauth_provider.dynamic_registration': 'true' } })
  admin = await app.adminToken()
})
beforeEach(async () => {
  client = await createClient(app, { scopes })
})
afterAll(() => app[Symbol.asyncDispose]())

const authorize = (scope: string) =>
  app.request(
    'GET',
    `/api/auth/authorize?${new URLSearchParams(authorizationRequest(client, createProof(), { scope }))}`,
    {
      token: user,
      headers: { accept: 'application/json' },
    },
  )
/** Sends a mail request with a token and returns the error, of the guard or for the missing body. */
const send = async (token: string) =>
  (await app.request('POST', '/api/email/send', { token, body: {} })).json.message
const permitted = 'to is required'
const refused = 'access token scope does not permit email:send'
const beyond = 'requested scope is not allowed for this client'
const putScopes = (list: readonly string[], clientId = client.clientId) =>
  app.request('PUT', `/api/admin/oauth/clients/${clientId}`, {
    token: admin,
    body: { name: 'Client', redirectUris: [callback], scopes: list },
  })

describe('oauth server › actions', () => {
  test.each([
    ['readonly email:send', 'readonly email:send'],
    ['push:send  email:send readwrite push:send', 'readwrite email:send push:send'],
    ['* email:send', '* email:send'],
  ])('are granted with the scope %j as %j', async (requested, granted) => {
    expect((await authorize(requested)).json).toMatchObject({ requires_consent: true, scope: granted })
    const tokens = await obtainTokens(app, user, client, { scope: requested })
    expect(tokens.scope).toBe(granted)
    expect(await send(tokens.access_token)).toBe(permitted)
    const about = (token: string) =>
      postForm(app, '/api/auth/introspect', {
        token,
        client_id: client.clientId,
        client_secret: client.clientSecret,
      })
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      expect((await about(token)).json).toMatchObject({ active: true, scope: granted })
    }
    const [grant] = (await app.request('GET', '/api/auth/grants', { token: user })).json
    expect([grant.clientId, grant.scope]).toEqual([client.clientId, granted])
    expect((await refresh(app, client, tokens.refresh_token)).json.scope).toBe(granted)
  })

  test.each([
    'email:send',
    'readonly sms:send',
    'readonly readwrite',
    'readonly email:read',
    'readonly *:send',
    'readonly,email:send',
  ])('are rejected in the scope %j', async (scope) => {
    const answer = await authorize(scope)
    expect([answer.status, answer.json]).toEqual([400, { error: 'invalid_scope', error_description: beyond }])
  })

  test.each(['readonly', 'readwrite', '*'])('are not included in the scope %s', async (scope) => {
    const { access_token } = await obtainTokens(app, user, client, { scope })
    expect(await send(access_token)).toBe(refused)
    const answer = await app.request('POST', '/api/email/send', { token: access_token, body: {} })
    expect(answer.headers.get('www-authenticate')).toBe(
      'Bearer error="insufficient_scope", scope="email:send"',
    )
  })

  test('are refused to a client that lists only *', async () => {
    client = await createClient(app)
    expect((await authorize('readonly email:send')).json.error_description).toBe(beyond)
    const form = {
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
    }
    const answer = await requestToken(app, { ...form, scope: '* email:send' })
    expect(answer.json).toEqual({ error: 'invalid_scope', error_description: beyond })
  })

  test('are granted to a client for itself', async () => {
    const form = {
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
    }
    const { json } = await requestToken(app, { ...form, scope: 'email:send readonly' })
    expect([json.scope, await send(json.access_token)]).toEqual(['readonly email:send', permitted])
  })

  test('require a new consent when there are more', async () => {
    await obtainTokens(app, user, client, { scope: 'readonly email:send' })
    expect((await authorize('readonly')).json.requires_consent).toBe(false)
    expect((await authorize('readonly email:send')).json.requires_consent).toBe(false)
    expect((await authorize('readonly email:send push:send')).json.requires_consent).toBe(true)
  })

  test('may be dropped from the access token by a refresh, which adds no others', async () => {
    const { refresh_token } = await obtainTokens(app, user, client, { scope: 'readwrite email:send' })
    const refreshWith = (token: string, scope: string) =>
      requestToken(app, {
        grant_type: 'refresh_token',
        refresh_token: token,
        scope,
        client_id: client.clientId,
        client_secret: client.clientSecret,
      })
    for (const scope of ['readonly push:send', 'readwrite email:send push:send', 'email:send']) {
      expect((await refreshWith(refresh_token, scope)).json).toEqual({
        error: 'invalid_scope',
        error_description: 'requested scope exceeds the granted one',
      })
    }
    const narrow = (await refreshWith(refresh_token, 'readonly')).json
    expect([narrow.scope, await send(narrow.access_token)]).toEqual(['readonly', refused])
    // Within the grace period a replay returns the same successor.
    expect((await refresh(app, client, refresh_token)).json).toEqual(narrow)
    const wide = (await refreshWith(narrow.refresh_token, 'readonly email:send')).json
    expect([wide.scope, await send(wide.access_token)]).toEqual(['readonly email:send', permitted])
  })

  test.each(['the administrator', 'SQL'])(
    'removed from a client by %s end what was granted with them',
    async (by) => {
      const plain = await obtainTokens(app, user, client, { scope: 'readwrite' })
      const acting = await obtainTokens(app, user, client, { scope: 'readonly email:send' })
      const proof = createProof()
      const code = await approveClient(app, user, client, proof, { scope: 'readonly email:send' })
      if (by === 'SQL') {
        await app.sql(`update basalt.oauth_clients set scopes = '{*}' where client_id = $1`, [
          client.clientId,
        ])
      } else {
        expect((await putScopes(['*'])).status).toBe(200)
      }
      const statusOf = async (token: string) => (await app.request('GET', '/api/schema', { token })).status
      await expect.poll(() => statusOf(acting.access_token)).toBe(401)
      expect(await statusOf(plain.access_token)).toBe(200)
      expect((await redeem(app, client, proof, code)).json.error).toBe('invalid_grant')
      expect((await refresh(app, client, acting.refresh_token)).json.error).toBe('invalid_grant')
    },
  )

  test('are refused to a self-registered client, even by the administrator', async () => {
    const body = { redirect_uris: [callback], scope: 'readonly email:send' }
    const registered = (await app.request('POST', '/api/auth/clients', { body })).json
    expect(registered.scope).toBe('readonly')
    client = { clientId: registered.client_id, clientSecret: registered.client_secret }
    expect((await authorize('readonly email:send')).json.error_description).toBe(beyond)
    expect(envelope(await putScopes(['readonly', 'email:send']))).toEqual({
      code: 400,
      error: 'invalid_oauth_client',
      message: 'scopes: actions are for clients that an administrator has registered',
    })
  })

  test('are among the scopes of the metadata', async () => {
    const supported = ['readonly', 'readwrite', '*', 'email:send', 'sms:send', 'push:send']
    for (const name of ['oauth-authorization-server', 'oauth-protected-resource']) {
      const { json } = await app.request('GET', `/.well-known/${name}`)
      expect(json.scopes_supported).toEqual(supported)
    }
  })
})
