import { createHash, randomBytes } from 'node:crypto'
import { request as sendRequest } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Browser, jsonOf } from '../../../../../test/social.ts'
import { createTestApp, envelope, type TestApp } from '../../../../../test/test-app.ts'
import { type ProviderStandIn, startProviderStandIn } from '../stand-in/server.ts'

let standIn: ProviderStandIn
let app: TestApp

beforeAll(async () => {
  standIn = await startProviderStandIn()
  app = await createTestApp({
    providerStandIn: standIn.url,
    config: {
      'auth.oauth.github.enabled': 'true',
      'auth.oauth.github.client_id': 'our client',
      'auth.oauth.github.client_secret': 'its secret',
    },
  })
  standIn.setServer(() => app.url)
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await standIn.close()
})
beforeEach(async () => {
  await app.sql('delete from basalt.users')
})

/** Sends the form of the page as a browser does. @returns the address that the browser is redirected to */
async function choose(authorization: URL, fields: Readonly<Record<string, string>>): Promise<URL> {
  const response = await sendForm(authorization, fields)
  expect([response.status, response.headers.get('cache-control')]).toEqual([303, 'no-store'])
  return new URL(response.headers.get('location') ?? '')
}

function sendForm(
  authorization: URL,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = { 'sec-fetch-site': 'same-origin' },
): Promise<Response> {
  const body = new URLSearchParams({ ...Object.fromEntries(authorization.searchParams), ...fields })
  const address = `${authorization.origin}${authorization.pathname}`
  return fetch(address, { method: 'POST', body, headers, redirect: 'manual' })
}

async function signIn(fields: Readonly<Record<string, string>>, provider = 'google') {
  const browser = new Browser()
  const callback = await choose(await browser.start(app, provider), fields)
  return await jsonOf(browser.open(callback.href))
}

describe('stand-in for sign-in providers', () => {
  test('shows a page that says what it is and offers persons', async () => {
    const authorization = await new Browser().start(app, 'google')
    expect(`${authorization.origin}${authorization.pathname}`).toBe(`${standIn.url}/google/authorize`)
    const page = await fetch(authorization)
    expect(page.status).toBe(200)
    expect(page.headers.get('content-security-policy')).toContain("script-src 'none'")
    const text = await page.text()
    expect(text).toContain(
      '<strong>Development only.</strong> <code>basalt dev</code> shows this page instead of',
    )
    expect([...text.matchAll(/name="choice" value="\d+">([^<]+)</g)].map(([, label]) => label)).toEqual([
      'Ada Lovelace, ada@example.com',
      'Grace Hopper, grace@example.com',
      'Someone without an address',
    ])
  })

  test('signs the chosen person in, the same user each time', async () => {
    const first = await signIn({ choice: '0' })
    expect(first).toMatchObject({ token: expect.any(String), user: { email: 'ada@example.com' } })
    const again = await signIn({ choice: 'verified', email: 'ADA@example.com' })
    expect(again.user.id).toBe(first.user.id)
    const { json } = await app.request('GET', '/api/auth/identities', { token: first.token })
    expect(JSON.stringify(json)).toMatch(/"provider":"google"/)
    expect(
      await app.sql('select provider, subject ~ $1 as marked from basalt.social_identities', ['^stand-in:']),
    ).toEqual([{ provider: 'google', marked: true }])
  })

  test('vouches for an address only if the form says so', async () => {
    const { user } = await signIn(
      { choice: 'unverified', name: 'Eve', email: 'owner@example.com' },
      'discord',
    )
    expect(user.email).not.toBe('owner@example.com')
    const page = await (await fetch(await new Browser().start(app, 'google'))).text()
    expect(page).toContain('Eve, owner@example.com (not verified)')
  })

  test('returns a refusal of the person to the application', async () => {
    const browser = new Browser()
    const callback = await choose(await browser.start(app, 'google'), { choice: 'cancel' })
    expect(callback.searchParams.get('error')).toBe('access_denied')
    expect((await jsonOf(browser.open(callback.href))).error).toBe('provider_denied')
  })

  test('shows the page again with the problem of an entry', async () => {
    const authorization = await new Browser().start(app, 'google')
    for (const [fields, problem] of [
      [{ choice: 'verified' }, 'Enter a name or an address.'],
      [{ choice: 'verified', email: 'ada' }, 'The address needs an @ between two parts.'],
      [{ choice: 'verified', name: 'x'.repeat(201) }, 'At most 200 characters.'],
      [{ choice: '99' }, 'This person is no longer listed.'],
    ] as const) {
      const response = await sendForm(authorization, fields)
      expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(problem)])
    }
    const text = await (await sendForm(authorization, { choice: 'verified', email: '<b>@"x' })).text()
    expect(text).not.toContain('<b>')
  })

  test('leaves a provider with a client alone', async () => {
    const authorization = await new Browser().start(app, 'github')
    expect(authorization.origin).toBe('https://github.com')
  })
})

describe('stand-in under attack', () => {
  const verifier = randomBytes(32).toString('base64url')
  const authorize = (changes: Readonly<Record<string, string>> = {}) => {
    const url = new URL(`${standIn.url}/google/authorize`)
    url.search = new URLSearchParams({
      redirect_uri: `${app.url}/api/auth/oauth/google/callback`,
      state: 'a state',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...changes,
    }).toString()
    return url
  }
  const redeem = (code: string | null, changes: Readonly<Record<string, string>> = {}, provider = 'google') =>
    fetch(`${standIn.url}/${provider}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        code: code ?? '',
        redirect_uri: `${app.url}/api/auth/oauth/google/callback`,
        code_verifier: verifier,
        ...changes,
      }),
    })
  const newCode = async () => (await choose(authorize(), { choice: '0' })).searchParams.get('code')

  test('sends codes to the callback of the server only', async () => {
    for (const changes of [
      { redirect_uri: 'https://evil.example/api/auth/oauth/google/callback' },
      { redirect_uri: `${app.url}/api/auth/oauth/github/callback` },
      { redirect_uri: `${app.url}/` },
      { code_challenge_method: 'plain' },
      { code_challenge: '' },
    ]) {
      expect([changes, (await fetch(authorize(changes))).status]).toEqual([changes, 400])
      expect((await sendForm(authorize(changes), { choice: '0' })).status).toBe(400)
    }
  })

  test('accepts its form from its own page only', async () => {
    for (const site of ['cross-site', 'same-site', 'none'])
      expect((await sendForm(authorize(), { choice: '0' }, { 'sec-fetch-site': site })).status).toBe(403)
  })

  test('refuses other names of this machine, as a page with a rebound name would send', async () => {
    const { hostname, port, pathname, search } = authorize()
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const options = { hostname, port, path: pathname + search, headers: { host: `evil.example:${port}` } }
      const sent = sendRequest(options, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      sent.on('error', reject).end()
    })
    expect(status).toBe(403)
  })

  test('accepts a code once, with its verifier, address and provider, also of ten at once', async () => {
    const code = await newCode()
    const replies = await Promise.all(Array.from({ length: 10 }, () => redeem(code)))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(400)])
    expect(await (await redeem(await newCode(), { code_verifier: 'another' })).json()).toEqual({
      error: 'invalid_grant',
    })
    expect((await redeem(await newCode(), { redirect_uri: `${app.url}/` })).status).toBe(400)
    expect((await redeem(await newCode(), {}, 'github')).status).toBe(400)
    const { access_token: token } = await jsonOf(redeem(await newCode()))
    const userinfo = async (provider: string) =>
      (await fetch(`${standIn.url}/${provider}/userinfo`, { headers: { authorization: `Bearer ${token}` } }))
        .status
    expect([await userinfo('google'), await userinfo('github')]).toEqual([200, 401])
  })

  test.each(['/unknown/authorize', '/google/nothing', '/', '/constructor/authorize'])(
    '%s is not found',
    async (path) => {
      expect((await fetch(standIn.url + path)).status).toBe(404)
    },
  )

  test('is not available in `basalt start`, nor beside a server that other machines reach', async () => {
    await using other = await createTestApp({ database: app.database })
    const response = await other.request('GET', '/api/auth/oauth/google')
    expect(envelope(response)).toEqual({
      code: 404,
      error: 'provider_not_configured',
      message: expect.stringContaining('google'),
    })
    const reached = { 'server.public_base_url': 'https://api.example.com' }
    await expect(
      createTestApp({ database: app.database, providerStandIn: standIn.url, config: reached }),
    ).rejects.toThrow('sign-in providers are replaced only on a server that no other machine reaches')
  })
})
