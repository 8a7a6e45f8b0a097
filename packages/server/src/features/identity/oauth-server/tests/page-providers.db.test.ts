import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AccountsApp, createAccountsApp, newEmail } from '../../../../../test/accounts.ts'
import { createApplication } from '../../../../../test/api-keys.ts'
import {
  authorizationRequest,
  callback,
  createClient,
  createProof,
  redeem,
  type TestClient,
} from '../../../../../test/oauth.ts'
import { inputsOf } from '../../../../../test/page-forms.ts'
import { enrollTotp, totpCode } from '../../../../../test/second-factors.ts'
import { Browser, type OpenIdPeer, oidcConfig, startOpenIdPeer } from '../../../../../test/social.ts'
import type { TestApp } from '../../../../../test/test-app.ts'

let peer: OpenIdPeer
let accounts: AccountsApp
let app: TestApp
let client: TestClient
const proof = createProof()
const state = 'CR\r LF\n + & %'

beforeAll(async () => {
  peer = await startOpenIdPeer()
  accounts = await createAccountsApp({
    config: {
      ...oidcConfig(peer.issuer, { display_name: 'Peer & sons' }),
      'auth.oauth_provider.enabled': 'true',
      'auth.totp_enabled': 'true',
    },
  })
  app = accounts.app
  const { user } = await accounts.register()
  client = await createClient(app, { appId: await createApplication(app, { ownerUserId: user.id }) })
})
afterAll(async () => {
  await accounts[Symbol.asyncDispose]()
  await peer[Symbol.asyncDispose]()
})

/** Creates a person at the provider, with a verified address. */
function introduce(email = newEmail()): string {
  peer.person = { sub: `sub of ${email}`, email, email_verified: true }
  return email
}

const query = (more: object = {}) =>
  String(new URLSearchParams(authorizationRequest(client, proof, { state, ...more })))

/** Browser without a script, on the page. */
class Page extends Browser {
  status = 0
  html = ''
  location = ''

  async show(url: string, init: RequestInit = {}): Promise<this> {
    const response = await this.open(url, init)
    this.status = response.status
    this.location = response.headers.get('location') ?? ''
    this.html = await response.text()
    return this
  }

  async submit(step: string, values: Readonly<Record<string, string>>): Promise<this> {
    const body = new URLSearchParams({ ...inputsOf(this.html, step), ...values })
    return await this.show(`${app.url}/oauth/authorize`, { method: 'POST', body })
  }

  /** Follows the link to the provider, and signs in there. @returns the address of the callback */
  async visitProvider(on = app): Promise<URL> {
    const [, href = ''] = /id="with-peer" href="([^"]+)"/.exec(this.html) ?? []
    const link = href.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    await this.show(on.url + link)
    expect([this.status, this.location.startsWith(peer.issuer)]).toEqual([303, true])
    return await this.consent(new URL(this.location))
  }

  async signInAtProvider(more: object = {}): Promise<this> {
    await this.show(`${app.url}/oauth/authorize?${query(more)}`)
    return await this.show((await this.visitProvider()).href)
  }
}

const codeIn = (location: string) => new URL(location).searchParams.get('code') ?? ''

describe('oauth server › page › providers', () => {
  test('signs a user in with a provider, and after the consent gives the client tokens of the account', async () => {
    const email = introduce()
    const page = await new Page().signInAtProvider({ scope: 'readonly' })
    expect(page.status).toBe(200)
    expect(page.html).toContain(`all your data as ${email}.`)
    await page.submit('consent', { decision: 'approve' })
    expect([page.status, page.location.startsWith(`${callback}?`)]).toEqual([303, true])
    expect(new URL(page.location).searchParams.get('state')).toBe(state)
    const tokens = await redeem(app, client, proof, codeIn(page.location))
    expect([tokens.status, tokens.json.scope]).toEqual([200, 'readonly'])
    // The page keeps no session.
    const sessions =
      'select 1 from basalt.sessions s join basalt.users u on u.id = s.user_id where u.email = $1'
    expect(await app.sql(sessions, [email])).toEqual([])
    // A user with an earlier consent returns to the client at once.
    const again = await new Page().signInAtProvider({ scope: 'readonly' })
    expect([again.status, codeIn(again.location)]).toEqual([303, expect.stringMatching(/^basalt_code_/)])
  })

  test('names the enabled providers, escaped, and none while none is enabled', async () => {
    const page = await new Page().show(`${app.url}/oauth/authorize?${query()}`)
    expect(page.html).toContain('>Continue with Peer &#38; sons</a>')
    expect(page.html).not.toContain('Continue with Google')
    const admin = await app.adminToken()
    const path = '/api/admin/auth/providers/peer'
    await app.request('PUT', path, { token: admin, body: { enabled: false } })
    await page.show(`${app.url}/oauth/authorize?${query()}`)
    expect(page.html).not.toContain('Continue with')
    await page.show(`${app.url}/oauth/authorize/peer?${query()}`)
    expect([page.status, page.html.includes('OAuth provider &#34;peer&#34; not configured.')]).toEqual([
      404,
      true,
    ])
    await app.request('DELETE', path, { token: admin })
  })

  test('requires a second factor after the provider', async () => {
    const email = newEmail()
    const { token, user } = await accounts.register(email)
    await app.sql('update basalt.users set email_verified_at = now() where id = $1', [user.id])
    const { secret } = await enrollTotp(accounts.post, token)
    introduce(email)
    const page = await new Page().signInAtProvider()
    expect(page.html).toContain('One more step')
    await page.submit('consent', { request: query(), step: 'consent', decision: 'approve' })
    expect(page.html).toContain('One more step')
    await page.submit('totp', { code: totpCode(secret) })
    await page.submit('consent', { decision: 'approve' })
    expect((await redeem(app, client, proof, codeIn(page.location))).status).toBe(200)
  })

  test('accepts a provider response once, in the browser that requested it, also on two nodes', async () => {
    introduce()
    await using node = await accounts.secondNode()
    const page = await new Page().show(`${app.url}/oauth/authorize?${query()}`)
    const back = await page.visitProvider()
    const stranger = await new Page().show(back.href)
    expect([stranger.status, JSON.parse(stranger.html).message]).toEqual([
      400,
      'invalid or expired OAuth state',
    ])
    const cookie = [...page.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const attempts = Array.from({ length: 10 }, (_, index) =>
      fetch((index % 2 === 0 ? app.url : node.url) + back.pathname + back.search, { headers: { cookie } }),
    )
    const statuses = (await Promise.all(attempts)).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([200, ...Array(9).fill(400)])
  })

  test('shows a failure at the provider, with the other sign-in methods', async () => {
    introduce()
    for (const [answer, status, problem] of [
      ['error=access_denied', 400, 'OAuth authentication was denied or failed.'],
      ['code=', 400, 'Missing authorization code.'],
      ['code=unknown', 502, 'Failed to authenticate with provider.'],
    ] as const) {
      const page = await new Page().show(`${app.url}/oauth/authorize?${query()}`)
      const back = await page.visitProvider()
      const returned = `state=${back.searchParams.get('state')}&${answer}`
      await page.show(`${back.origin}${back.pathname}?${returned}`)
      expect([page.status, page.html.includes(problem), page.html.includes('id="password"')]).toEqual([
        status,
        true,
        true,
      ])
      const { user } = await accounts.register()
      await page.submit('password', { email: user.email, password: 'tangerine-harbour-42' })
      expect(page.html).toContain('id="consent"')
    }
  })

  test('rejects a disabled account', async () => {
    const email = introduce()
    await new Page().signInAtProvider()
    await app.sql('update basalt.users set disabled_at = now() where email = $1', [email])
    const page = await new Page().signInAtProvider()
    expect([page.status, page.html.includes('This account cannot sign in.')]).toEqual([401, true])
  })

  test('appears instead of the provider for a link of another site', async () => {
    const page = await new Page().show(`${app.url}/oauth/authorize/peer?${query()}`)
    expect([page.status, page.html.includes('Sign in to continue')]).toEqual([200, true])
    const headers = { 'sec-fetch-site': 'cross-site' }
    await page.show(`${app.url}/oauth/authorize/peer?${query()}`, { headers })
    expect([page.status, page.html.includes('Sign in to continue')]).toEqual([200, true])
  })

  test('sends no invalid request to the provider', async () => {
    const page = await new Page().show(`${app.url}/oauth/authorize/peer?${query({ client_id: 'x' })}`)
    expect([page.status, page.html.includes('invalid client_id')]).toEqual([401, true])
    await page.show(`${app.url}/oauth/authorize/peer?${query({ scope: 'all' })}`)
    expect(page.location).toContain(`${callback}?error=invalid_scope`)
  })

  test('gives nothing to a client that was revoked in the meantime', async () => {
    introduce()
    const page = await new Page().show(`${app.url}/oauth/authorize?${query()}`)
    const back = await page.visitProvider()
    const revoke = (at: string) =>
      app.sql(`update basalt.oauth_clients set revoked_at = ${at} where client_id = $1`, [client.clientId])
    await revoke('now()')
    await page.show(back.href)
    expect([page.status, page.html.includes('client has been revoked')]).toEqual([401, true])
    await revoke('null')
  })
})
