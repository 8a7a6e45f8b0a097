import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AccountsApp, createAccountsApp, newEmail } from '../../../../../test/accounts.ts'
import { openEventStream } from '../../../../../test/event-stream.ts'
import {
  Browser,
  continueLink,
  jsonOf,
  type OpenIdPeer,
  oidcConfig,
  startOpenIdPeer,
} from '../../../../../test/social.ts'
import type { TestApp } from '../../../../../test/test-app.ts'

let peer: OpenIdPeer
let accounts: AccountsApp
beforeAll(async () => {
  peer = await startOpenIdPeer()
  accounts = await createAccountsApp({ config: oidcConfig(peer.issuer) })
})
afterAll(async () => {
  await accounts[Symbol.asyncDispose]()
  await peer[Symbol.asyncDispose]()
})

/** Opens the stream in the browser, which keeps its cookie. */
async function openStream(browser: Browser, app: TestApp = accounts.app) {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const stream = await openEventStream(app.url, 'oauth=true', { headers: cookie === '' ? {} : { cookie } })
  for (const line of stream.headers['set-cookie'] ?? []) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]+)/.exec(line) ?? []
    browser.cookies.set(name, value)
  }
  const { data } = await stream.named('connected')
  return { stream, clientId: data.clientId as string }
}

async function pass(browser: Browser, clientId: string): Promise<URL> {
  const page = await (await browser.open(`${accounts.app.url}/api/auth/oauth/peer?state=${clientId}`)).text()
  const response = await browser.open(new URL(continueLink(page), accounts.app.url).href)
  return new URL(response.headers.get('location') ?? '')
}

function newPerson(): string {
  const email = newEmail()
  peer.person = { sub: `sub of ${email}`, email, email_verified: true }
  return email
}

describe('social login › popup', () => {
  test('sends the tokens over the stream, which then ends, also from another node', async () => {
    await using second = await accounts.secondNode()
    for (const app of [accounts.app, second]) {
      const email = newPerson()
      const browser = new Browser()
      const { stream, clientId } = await openStream(browser, app)
      await using _ = stream
      const callback = await browser.consent(await pass(browser, clientId))
      const done = await browser.open(callback.href)
      expect([done.status, done.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
      expect(await done.text()).not.toContain('eyJ')
      const { data } = await stream.named('oauth')
      expect(data.user.email).toBe(email)
      const me = await accounts.app.request('GET', '/api/auth/me', { token: data.token })
      expect(me.status).toBe(200)
      await stream.ended()
    }
    const left = await accounts.app.sql('select 1 from basalt.social_popups')
    expect(left).toEqual([])
  })

  test('returns from the callback to another loopback name, which has the cookie', async () => {
    const email = newPerson()
    const browser = new Browser()
    const there = { ...accounts.app, url: accounts.app.url.replace('127.0.0.1', 'localhost') }
    const { stream, clientId } = await openStream(browser, there)
    await using _ = stream
    const page = await (await browser.open(`${there.url}/api/auth/oauth/peer?state=${clientId}`)).text()
    const begun = await browser.open(new URL(continueLink(page), there.url).href)
    const callback = await browser.consent(new URL(begun.headers.get('location') ?? ''))
    expect(callback.origin).toBe(accounts.app.url)
    // Cookies of one name are not sent to the other.
    const back = await new Browser().open(callback.href)
    const location = back.headers.get('location') ?? ''
    expect([back.status, location]).toEqual([307, callback.href.replace(accounts.app.url, there.url)])
    expect((await browser.open(location)).status).toBe(200)
    const { data } = await stream.named('oauth')
    expect(data.user.email).toBe(email)
  })

  test('accepts only loopback names in a state', async () => {
    for (const name of ['example.com', 'localhost:1', 'localhost@example.com', '']) {
      const state = encodeURIComponent(`x~${name}`)
      const response = await new Browser().open(
        `${accounts.app.url}/api/auth/oauth/peer/callback?code=x&state=${state}`,
      )
      expect([name, response.status]).toEqual([name, 400])
    }
  })

  test('shows a page that describes the sign-in before it redirects to the provider', async () => {
    const browser = new Browser()
    const { stream, clientId } = await openStream(browser)
    await using _ = stream
    const response = await browser.open(`${accounts.app.url}/api/auth/oauth/peer?state=${clientId}`)
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('You are about to sign in with peer')
    expect(response.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  })

  test("rejects the client id of another browser's stream, which gets nothing", async () => {
    newPerson()
    const { stream, clientId } = await openStream(new Browser())
    await using _ = stream
    for (const victim of [new Browser(), await visited()]) {
      const refused = await victim.open(`${accounts.app.url}/api/auth/oauth/peer?state=${clientId}`)
      expect([refused.status, (await jsonOf(refused)).error]).toEqual([400, 'invalid_popup'])
    }
    expect(stream.events.filter(({ name }) => name === 'oauth')).toEqual([])
  })

  test('limits an address to 300 sign-ins and streams an hour', async () => {
    // The limit applies outside development.
    const config = { ...oidcConfig(peer.issuer), 'server.public_base_url': 'https://api.example.com' }
    await using narrow = await createAccountsApp({ config })
    const start = () => narrow.app.request('GET', '/api/auth/oauth/peer?state=unknown')
    expect((await start()).status).toBe(400)
    await narrow.app.sql("update basalt.attempts set count = 300 where key like '%social.start%'")
    for (const path of ['/api/auth/oauth/peer', '/api/realtime?oauth=true']) {
      const refused = await narrow.app.request('GET', path)
      expect([path, refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([
        path,
        429,
        true,
      ])
    }
  })

  test('sends a failure over the stream with its message', async () => {
    const browser = new Browser()
    const { stream, clientId } = await openStream(browser)
    await using _ = stream
    const state = (await pass(browser, clientId)).searchParams.get('state')
    await browser.open(`${accounts.app.url}/api/auth/oauth/peer/callback?error=access_denied&state=${state}`)
    expect((await stream.named('oauth')).data).toEqual({ error: 'OAuth authentication was denied or failed' })
  })

  test('sends a second factor over the stream as a pending sign-in', async () => {
    newPerson()
    const { user } = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    await accounts.app.sql(
      "insert into basalt.mfa_factors (user_id, method, secret, confirmed_at) values ($1, 'totp', 'x', now())",
      [user.id],
    )
    const browser = new Browser()
    const { stream, clientId } = await openStream(browser)
    await using _ = stream
    const callback = await browser.consent(await pass(browser, clientId))
    await browser.open(callback.href)
    expect((await stream.named('oauth')).data).toEqual({ mfa_pending: true, mfa_token: expect.any(String) })
  })
})

/** Returns a browser that has signed in here before. */
async function visited(): Promise<Browser> {
  const browser = new Browser()
  await browser.start(accounts.app, 'peer')
  return browser
}
