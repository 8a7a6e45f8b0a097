import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AccountsApp, createAccountsApp } from '../../../../../test/accounts.ts'
import {
  type OpenIdPeer,
  oidcConfig,
  type ProviderStandIn,
  startOpenIdPeer,
  startProviderStandIn,
} from '../../../../../test/social.ts'
import { envelope } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

let peer: OpenIdPeer
let standIn: ProviderStandIn
let accounts: AccountsApp
beforeAll(async () => {
  peer = await startOpenIdPeer()
  standIn = await startProviderStandIn()
  accounts = await createAccountsApp({
    config: oidcConfig(peer.issuer, { display_name: 'Peer & Co' }),
    reachProvider: (url) => (url.startsWith(peer.issuer) ? url : standIn.reachProvider(url)),
  })
})
afterAll(async () => {
  await accounts[Symbol.asyncDispose]()
  await standIn[Symbol.asyncDispose]()
  await peer[Symbol.asyncDispose]()
})

const path = '/api/admin/auth/providers'
async function send(method: string, suffix = '', body?: object) {
  const token = await accounts.app.adminToken()
  return await accounts.app.request(method, `${path}${suffix}`, { token, body })
}

describe('/api/admin/auth/providers', () => {
  test('lists sixteen built-in providers and the OpenID providers', async () => {
    const { providers } = (await send('GET')).json
    expect(providers).toHaveLength(17)
    expect(providers[0]).toEqual({
      name: 'google',
      type: 'builtin',
      display_name: 'Google',
      enabled: false,
      client_id_configured: false,
      client_secret_configured: false,
      store_provider_tokens: false,
      missing: 'client_id',
      changed: false,
      callback_url: `${accounts.app.url}/api/auth/oauth/google/callback`,
    })
    expect(providers.at(-1)).toMatchObject({ name: 'peer', type: 'oidc', enabled: true })
  })

  test('applies an update on every node, and resets to the configuration', async () => {
    await using second = await accounts.secondNode()
    const change = { enabled: true, client_id: 'of discord', client_secret: 'a secret of discord' }
    const changed = await send('PUT', '/discord', change)
    expect(changed.json).toMatchObject({ name: 'discord', enabled: true, client_id_configured: true })
    const startAt = async (url: string) =>
      await fetch(`${url}/api/auth/oauth/discord`, { redirect: 'manual' })
    expect((await startAt(accounts.app.url)).status).toBe(307)
    await waitFor('the update on the second node', async () => (await startAt(second.url)).status === 307)
    const [stored] = await accounts.app.sql(
      "select value::text from basalt.settings where key = 'social_providers'",
    )
    expect(stored?.value).not.toContain('a secret of discord')
    const [audit] = await accounts.app.sql(
      "select detail::text from basalt.audit where action = 'social_providers.update'",
    )
    expect(audit?.detail).not.toContain('a secret of discord')
    expect((await send('DELETE', '/discord')).status).toBe(204)
    expect((await startAt(accounts.app.url)).status).toBe(404)
  })

  test.each(['a\0', 'a\ud800'])('rejects a client id that cannot be stored: %j', async (client_id) => {
    expect(envelope(await send('PUT', '/discord', { client_id }))).toEqual({
      code: 400,
      message: 'client_id: expected Unicode text without NUL',
      error: 'invalid_request',
    })
  })

  test('prevents the start of a node without the key of a stored secret', async () => {
    await send('PUT', '/discord', { client_secret: 'a secret of discord' })
    // The secret was encrypted with an earlier key.
    await accounts.app.sql(`
      update basalt.settings set value = jsonb_set(value, '{discord,sealed_secret}', '"otherkey.AAAA"')
      where key = 'social_providers'`)
    const starting = accounts.secondNode()
    await expect(starting).rejects.toThrow('sign-in providers 1')
    await send('DELETE', '/discord')
  })

  test('keeps two concurrent updates of different providers', async () => {
    await Promise.all([
      send('PUT', '/zoom', { client_id: 'of zoom' }),
      send('PUT', '/figma', { client_id: 'of figma' }),
    ])
    const { providers } = (await send('GET')).json
    const configured = providers.filter(
      (each: { client_id_configured: boolean }) => each.client_id_configured,
    )
    expect(configured.map(({ name }: { name: string }) => name)).toEqual(['zoom', 'figma', 'peer'])
  })

  test('names the problem in a test of the provider', async () => {
    const missing = (await send('POST', '/google/test')).json
    expect(missing).toEqual({
      success: false,
      message: 'client_id is not set',
      callback_url: `${accounts.app.url}/api/auth/oauth/google/callback`,
    })
    await send('PUT', '/github', { client_id: 'a', client_secret: 'b' })
    const token = 'POST github.com/login/oauth/access_token'
    standIn.answers[token] = { error: 'incorrect_client_credentials', error_description: 'wrong' }
    expect((await send('POST', '/github/test')).json).toMatchObject({ success: false })
    standIn.answers[token] = { status: 400, text: '<html></html>' }
    expect((await send('POST', '/github/test')).json.message).toMatch(/^a response is not JSON: /)
    standIn.answers[token] = { error: 'bad_verification_code' }
    const fine = (await send('POST', '/github/test')).json
    expect(fine.success).toBe(true)
    delete standIn.answers[token]
    expect((await send('POST', '/github/test')).json.success).toBe(false)
  })

  test('returns 404 for an unknown provider and an unknown user', async () => {
    for (const [method, suffix] of [
      ['PUT', '/unknown'],
      ['DELETE', '/unknown'],
      ['POST', '/unknown/test'],
    ] as const) {
      const response = await send(method, suffix, method === 'DELETE' ? undefined : {})
      expect([response.status, response.json.error]).toEqual([404, 'unknown_provider'])
    }
    const token = await accounts.app.adminToken()
    const url = '/api/admin/users/00000000-0000-0000-0000-000000000001/provider-tokens'
    expect((await accounts.app.request('GET', url, { token })).status).toBe(404)
    expect((await accounts.app.request('DELETE', `${url}/google`, { token })).status).toBe(404)
  })
})
