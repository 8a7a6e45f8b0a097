import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { callback, createClient, createOAuthApp } from '../../../../../test/oauth.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
const user = userToken({ sub: alice })

beforeAll(async () => {
  app = await createOAuthApp({ config: { 'auth.oauth_provider.dynamic_registration': 'true' } })
})
afterAll(() => app[Symbol.asyncDispose]())

/** Approves as the application's own page does for a signed-in user. */
async function approve(address: URL): Promise<URL> {
  const parameters = Object.fromEntries(address.searchParams)
  const response = await app.request('POST', '/api/auth/authorize/consent', {
    token: user,
    body: { decision: 'approve', ...parameters },
    headers: { accept: 'application/json' },
  })
  return new URL(response.json.redirect_to)
}

describe('oauth server › openid-client', () => {
  test('discovers, authorizes, refreshes, introspects and revokes', async () => {
    const { clientId, clientSecret } = await createClient(app)
    const config = await openid.discovery(new URL(app.url), clientId, clientSecret, undefined, {
      algorithm: 'oauth2',
      execute: [openid.allowInsecureRequests],
    })
    expect(config.serverMetadata().issuer).toBe(app.url)
    const pkceCodeVerifier = openid.randomPKCECodeVerifier()
    const expectedState = openid.randomState()
    const address = openid.buildAuthorizationUrl(config, {
      redirect_uri: callback,
      scope: 'readonly',
      state: expectedState,
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      resource: app.url,
    })
    expect(address.origin + address.pathname).toBe(`${app.url}/oauth/authorize`)
    const answer = await approve(address)
    const tokens = await openid.authorizationCodeGrant(config, answer, { pkceCodeVerifier, expectedState })
    expect(tokens.expires_in).toBe(3600)
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')
    expect(await openid.tokenIntrospection(config, refreshed.access_token)).toMatchObject({
      active: true,
      sub: alice,
    })
    await openid.tokenRevocation(config, refreshed.refresh_token ?? '')
    expect(await openid.tokenIntrospection(config, refreshed.access_token)).toEqual({ active: false })
    const own = await openid.clientCredentialsGrant(config, { scope: 'readonly' })
    expect(own.access_token).toMatch(/^basalt_at_/)
    await expect(
      openid.authorizationCodeGrant(config, answer, { pkceCodeVerifier, expectedState }),
    ).rejects.toMatchObject({ error: 'invalid_grant' })
  })
})

describe('oauth server › oauth4webapi', () => {
  const insecure = { [oauth.allowInsecureRequests]: true } as const

  test('accepts the metadata, and signs a public client in with PKCE', async () => {
    const issuer = new URL(app.url)
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
    const server = await oauth.processDiscoveryResponse(issuer, found)
    expect(server).toMatchObject({
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    })
    const { clientId } = await createClient(app, { clientType: 'public' })
    const client = { client_id: clientId }
    const verifier = oauth.generateRandomCodeVerifier()
    const state = oauth.generateRandomState()
    const address = new URL(server.authorization_endpoint ?? '')
    address.search = String(
      new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: callback,
        scope: 'readwrite',
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }),
    )
    const parameters = oauth.validateAuthResponse(server, client, await approve(address), state)
    const answered = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      parameters,
      callback,
      verifier,
      insecure,
    )
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, answered)
    const resource = await oauth.protectedResourceRequest(
      tokens.access_token,
      'GET',
      new URL(`${app.url}/api/schema`),
      undefined,
      undefined,
      insecure,
    )
    expect(resource.status).toBe(200)
  })

  test('finds the server by the metadata of the resource', async () => {
    const resource = new URL(app.url)
    const found = await oauth.resourceDiscoveryRequest(resource, insecure)
    expect(await oauth.processResourceDiscoveryResponse(resource, found)).toMatchObject({
      authorization_servers: [app.url],
    })
  })

  test('gets from a rejected request to tokens: finds the server, registers itself, signs in', async () => {
    const refused = await fetch(`${app.url}/api/collections/note`)
    const [, address = ''] =
      /^Bearer resource_metadata="([^"]+)"$/.exec(refused.headers.get('www-authenticate') ?? '') ?? []
    expect([refused.status, address]).toEqual([401, `${app.url}/.well-known/oauth-protected-resource`])
    const [authorizationServer = ''] = (await app.request('GET', new URL(address).pathname)).json
      .authorization_servers
    const issuer = new URL(authorizationServer)
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
    const server = await oauth.processDiscoveryResponse(issuer, found)
    const metadata = { client_name: 'Reader', redirect_uris: [callback], token_endpoint_auth_method: 'none' }
    const registered = await oauth.dynamicClientRegistrationRequest(server, metadata, insecure)
    const client = await oauth.processDynamicClientRegistrationResponse(registered)
    const config = new openid.Configuration({ ...server }, client.client_id, undefined, openid.None())
    openid.allowInsecureRequests(config)
    const pkceCodeVerifier = openid.randomPKCECodeVerifier()
    const expectedState = openid.randomState()
    const request = openid.buildAuthorizationUrl(config, {
      redirect_uri: callback,
      scope: 'readonly',
      state: expectedState,
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    })
    const answer = await approve(request)
    const tokens = await openid.authorizationCodeGrant(config, answer, { pkceCodeVerifier, expectedState })
    const read = await fetch(`${app.url}/api/schema`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    })
    expect(read.status).toBe(200)
  })
})

test('oauth server › a rejected request names the resource metadata where programs may call', async () => {
  const metadata = `resource_metadata="${app.url}/.well-known/oauth-protected-resource"`
  const challengeOf = async (path: string, token?: string) => {
    const response = await app.request('GET', path, { token })
    return [response.status, response.headers.get('www-authenticate')]
  }
  for (const path of ['/api/collections/note', '/api/realtime?tables=note']) {
    expect(await challengeOf(path)).toEqual([401, `Bearer ${metadata}`])
    for (const token of ['x', `basalt_at_${'0'.repeat(49)}`]) {
      expect(await challengeOf(path, token)).toEqual([401, `Bearer error="invalid_token", ${metadata}`])
    }
  }
  for (const path of ['/api/auth/me', '/api/admin/users']) {
    expect(await challengeOf(path)).toEqual([401, 'Bearer'])
    expect(await challengeOf(path, 'x')).toEqual([401, 'Bearer error="invalid_token"'])
  }
  await using off = await createTestApp({ database: app.database })
  const response = await off.request('GET', '/api/collections/note')
  expect(response.headers.get('www-authenticate')).toBe('Bearer')
})
