import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AccountsApp, claimsOf, createAccountsApp, newEmail } from '../../../../../test/accounts.ts'
import { Browser, jsonOf, type OpenIdPeer, oidcConfig, startOpenIdPeer } from '../../../../../test/social.ts'
import { envelope } from '../../../../../test/test-app.ts'

const redirect = {
  'auth.oauth_redirect_url': 'https://app.example.com/signed-in',
  'auth.oauth_return_to_allowlist': 'other.example.com',
}

const soon = () => Math.floor(Date.now() / 1000) + 600

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

/** Returns a person that no test has used. */
function newPerson(more: Record<string, unknown> = {}): { sub: string; email: string } {
  const email = newEmail()
  peer.person = { sub: `sub of ${email}`, email, email_verified: true, name: 'Ada', ...more }
  return { sub: `sub of ${email}`, email }
}

describe('social login › start', () => {
  test('redirects with state, nonce and PKCE S256 and sets a cookie for this browser', async () => {
    const response = await new Browser().open(`${accounts.app.url}/api/auth/oauth/peer`)
    expect(response.status).toBe(307)
    const url = new URL(response.headers.get('location') ?? '')
    const query = Object.fromEntries(url.searchParams)
    expect(query).toMatchObject({
      client_id: 'basalt',
      redirect_uri: `${accounts.app.url}/api/auth/oauth/peer/callback`,
      response_type: 'code',
      scope: 'openid profile email',
      code_challenge_method: 'S256',
    })
    expect(query.state).toMatch(/^[\w-]{43}$/)
    expect(query.nonce).toMatch(/^[\w-]{43}$/)
    expect(query.nonce).not.toBe(query.state)
    const [cookie = ''] = response.headers.getSetCookie()
    expect(cookie).toMatch(/^basalt_sign_in=[\w-]{43}; Path=\/; HttpOnly; Max-Age=600; SameSite=Lax$/)
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test('returns 404 for a provider that is not configured', async () => {
    for (const name of ['google', 'unknown', '__proto__']) {
      const response = await accounts.app.request('GET', `/api/auth/oauth/${name}`)
      expect(response.status).toBe(404)
      expect(envelope(response)).toMatchObject({ message: `OAuth provider "${name}" not configured` })
    }
  })

  test('ignores Host and forwarding headers for the callback address', async () => {
    const response = await new Browser().open(`${accounts.app.url}/api/auth/oauth/peer`, {
      headers: { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
    })
    const url = new URL(response.headers.get('location') ?? '')
    expect(url.searchParams.get('redirect_uri')).toBe(`${accounts.app.url}/api/auth/oauth/peer/callback`)
  })
})

describe('social login › callback', () => {
  test('signs a new person in with a verified address and amr oauth', async () => {
    const { email } = newPerson()
    const response = await new Browser().signIn(accounts.app, 'peer')
    expect(response.status).toBe(200)
    const body = await jsonOf(response)
    expect(body.user).toMatchObject({ email, emailVerified: true, is_anonymous: false })
    expect(claimsOf(body.token)).toMatchObject({ aal: 'aal1', amr: ['oauth'], sub: body.user.id })
    const again = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    expect(again.user.id).toBe(body.user.id)
  })

  test('signs in as a public client, which has no secret', async () => {
    newPerson()
    await using open = await createAccountsApp({ config: oidcConfig(peer.issuer, { client_secret: '' }) })
    expect((await new Browser().signIn(open.app, 'peer')).status).toBe(200)
  })

  test('creates an account without an address when the provider does not vouch for it', async () => {
    const { email } = newPerson({ email_verified: false })
    const body = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    expect(body.user).toMatchObject({ email: '', emailVerified: false })
    const users = await accounts.app.sql('select 1 from basalt.users where email = $1', [email])
    expect(users).toEqual([])
  })

  test('takes address and verification from one document', async () => {
    const { email } = newPerson()
    const idToken = { sub: peer.person.sub, email_verified: true }
    const hasOnlyVerification = (token: { payload: object }) => {
      Object.assign(token.payload, { email: undefined, ...idToken })
    }
    peer.person = { sub: peer.person.sub, email, name: 'Ada' }
    peer.server.service.on('beforeTokenSigning', hasOnlyVerification)
    const body = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    peer.server.service.off('beforeTokenSigning', hasOnlyVerification)
    expect(body.user).toMatchObject({ email: '', emailVerified: false })
  })

  test('accepts a state once, also for ten concurrent requests on two nodes', async () => {
    newPerson()
    await using second = await accounts.secondNode()
    const browser = new Browser()
    const callback = await browser.consent(await browser.start(accounts.app, 'peer'))
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => {
        const base = index % 2 === 0 ? accounts.app.url : second.url
        return browser.open(`${base}${callback.pathname}${callback.search}`)
      }),
    )
    const statuses = answers.map(({ status }) => status)
    // The second node has another address, which the provider does not know. If it wins, the provider rejects it.
    expect(statuses.filter((status) => status !== 400)).toHaveLength(1)
    expect([200, 502]).toContain(statuses.find((status) => status !== 400))
  })

  test('rejects the state of another browser, which stays valid for its owner', async () => {
    newPerson()
    const [owner, other] = [new Browser(), new Browser()]
    const callback = await owner.consent(await owner.start(accounts.app, 'peer'))
    await other.start(accounts.app, 'peer')
    for (const browser of [other, new Browser()]) {
      const refused = await browser.open(callback.href)
      expect([refused.status, (await jsonOf(refused)).message]).toEqual([
        400,
        'invalid or expired OAuth state',
      ])
    }
    expect((await owner.open(callback.href)).status).toBe(200)
  })

  test('rejects the state of another provider (RFC 9700 §4.4)', async () => {
    newPerson()
    const two = { issuer_url: peer.issuer, client_id: 'basalt', client_secret: 'a secret' }
    await using mixed = await createAccountsApp({
      config: { 'auth.oidc': JSON.stringify({ honest: two, evil: two }) },
    })
    const browser = new Browser()
    const callback = await browser.consent(await browser.start(mixed.app, 'honest'))
    const refused = await browser.open(callback.href.replace('/honest/', '/evil/'))
    expect([refused.status, (await jsonOf(refused)).error]).toEqual([400, 'invalid_state'])
    expect((await browser.open(callback.href)).status).toBe(200)
  })

  test('rejects a state after ten minutes', async () => {
    newPerson()
    const browser = new Browser()
    const callback = await browser.consent(await browser.start(accounts.app, 'peer'))
    await accounts.app.sql("update basalt.social_sign_ins set expires_at = now() - interval '1 second'")
    const refused = await browser.open(callback.href)
    expect([refused.status, (await jsonOf(refused)).error]).toEqual([400, 'invalid_state'])
  })

  test.each([
    ['error=access_denied', 'OAuth authentication was denied or failed'],
    ['code=x', 'invalid or expired OAuth state'],
    ['code=x&state=unknown', 'invalid or expired OAuth state'],
    ['code=x&state=a&state=b', 'invalid or expired OAuth state'],
    [`code=x&state=${'%0d%0a'.repeat(300)}`, 'invalid or expired OAuth state'],
  ])('returns 400 for ?%s', async (query, message) => {
    const refused = await new Browser().open(`${accounts.app.url}/api/auth/oauth/peer/callback?${query}`)
    expect([refused.status, (await jsonOf(refused)).message]).toEqual([400, message])
  })

  test('returns 400 without a code, or with two', async () => {
    for (const codes of ['', '&code=a&code=b']) {
      const browser = new Browser()
      const state = (await browser.start(accounts.app, 'peer')).searchParams.get('state')
      const callback = `${accounts.app.url}/api/auth/oauth/peer/callback?state=${state}${codes}`
      const refused = await browser.open(callback)
      expect([refused.status, (await jsonOf(refused)).message]).toEqual([400, 'missing authorization code'])
    }
  })

  test('returns 400 for a POST that is not a form', async () => {
    const callback = '/api/auth/oauth/peer/callback'
    const body = { code: 'x', state: 'x' }
    expect(envelope(await accounts.app.request('POST', callback, { body }))).toEqual({
      code: 400,
      message: 'invalid form data',
      error: 'invalid_form_data',
    })
  })

  test('rejects a response of another issuer (RFC 9207)', async () => {
    newPerson()
    const browser = new Browser()
    const callback = await browser.consent(await browser.start(accounts.app, 'peer'))
    callback.searchParams.set('iss', 'https://honest.example')
    expect((await browser.open(callback.href)).status).toBe(502)
  })

  test.each([
    ['the wrong audience', (payload: Record<string, unknown>) => ({ ...payload, aud: 'another client' })],
    ['another issuer', (payload: Record<string, unknown>) => ({ ...payload, iss: 'https://evil.example' })],
    ['another nonce', (payload: Record<string, unknown>) => ({ ...payload, nonce: 'of another sign-in' })],
    ['a beginning in the future', (payload: Record<string, unknown>) => ({ ...payload, iat: soon() })],
    ['a validity in the future', (payload: Record<string, unknown>) => ({ ...payload, nbf: soon() })],
    ['an end in the past', (payload: Record<string, unknown>) => ({ ...payload, exp: 1_000_000 })],
    ['no subject', ({ sub: _, ...payload }: Record<string, unknown>) => payload],
  ])('rejects an id_token with %s', async (_, change) => {
    newPerson()
    const { service } = peer.server
    const alter = (token: { payload: Record<string, unknown> }) => {
      token.payload = change(token.payload)
    }
    service.on('beforeTokenSigning', alter)
    try {
      const refused = await new Browser().signIn(accounts.app, 'peer')
      expect([refused.status, (await jsonOf(refused)).message]).toEqual([
        502,
        'failed to authenticate with provider',
      ])
    } finally {
      service.off('beforeTokenSigning', alter)
    }
  })

  test.each([
    ['an id_token without signature', (token: string) => unsigned(token, { alg: 'none' }, '')],
    [
      'an id_token of an unknown key',
      (token: string) => unsigned(token, { alg: 'RS256', kid: 'unknown' }, 'c2ln'),
    ],
    ['an id_token signed by the client secret', (token: string) => unsigned(token, { alg: 'HS256' }, 'c2ln')],
    ['an id_token whose payload was changed', (token: string) => forged(token)],
  ])('rejects %s', async (_, change) => {
    newPerson()
    peer.server.service.once('beforeResponse', (response) => {
      const body = response.body as { id_token: string }
      response.body = { ...body, id_token: change(body.id_token) }
    })
    expect((await new Browser().signIn(accounts.app, 'peer')).status).toBe(502)
  })

  test.each([
    ['500', { statusCode: 500, body: { error: 'server_error' } }],
    ['an error', { statusCode: 400, body: { error: 'invalid_grant' } }],
    ['no access token', { statusCode: 200, body: {} }],
    ['a huge body', { statusCode: 200, body: { access_token: 'x'.repeat(400_000) } }],
  ])('returns 502 when the token endpoint responds with %s', async (_, answer) => {
    newPerson()
    peer.server.service.once('beforeResponse', (response) => {
      Object.assign(response, answer)
    })
    const refused = await new Browser().signIn(accounts.app, 'peer')
    expect([refused.status, (await jsonOf(refused)).error]).toEqual([502, 'provider_failed'])
    expect((await new Browser().signIn(accounts.app, 'peer')).status).toBe(200)
  })

  test('accepts keys that were rotated since the last sign-in', async () => {
    newPerson()
    expect((await new Browser().signIn(accounts.app, 'peer')).status).toBe(200)
    const rotated = await startOpenIdPeer()
    await rotated[Symbol.asyncDispose]()
    await peer.server.issuer.keys.generate('RS256')
    // The peer signs with its keys in turn, so both are used.
    for (let count = 0; count < 2; count += 1) {
      expect((await new Browser().signIn(accounts.app, 'peer')).status).toBe(200)
    }
  })
})

function unsigned(token: string, header: object, signature: string): string {
  const [, payload] = token.split('.')
  return `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}.${signature}`
}

function forged(token: string): string {
  const [header, payload = '', signature] = token.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const changed = Buffer.from(JSON.stringify({ ...claims, sub: 'another person' })).toString('base64url')
  return [header, changed, signature].join('.')
}

describe('social login › accounts', () => {
  test('links to the account whose verified address the provider vouches for', async () => {
    const { email } = newPerson()
    const { user } = await accounts.register(email)
    await accounts.app.sql('update basalt.users set email_verified_at = now() where id = $1', [user.id])
    const body = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    expect(body.user.id).toBe(user.id)
    const login = await accounts.post('login', { email, password: 'tangerine-harbour-42' })
    expect(login.status).toBe(200)
  })

  test('does not link to an account when the provider does not vouch for the address', async () => {
    const { email } = newPerson({ email_verified: false })
    const { user } = await accounts.register(email)
    await accounts.app.sql('update basalt.users set email_verified_at = now() where id = $1', [user.id])
    const body = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    expect(body.user.id).not.toBe(user.id)
  })

  test('takes over an unverified account: password, sessions and identities of a stranger end', async () => {
    const { email } = newPerson()
    const stranger = await accounts.register(email)
    await accounts.app.sql(
      "insert into basalt.social_identities (provider, subject, user_id) values ('peer', $1, $2)",
      [`stranger ${email}`, stranger.user.id],
    )
    const body = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    expect(body.user).toMatchObject({ id: stranger.user.id, emailVerified: true })
    expect((await accounts.app.request('GET', '/api/auth/me', { token: stranger.token })).status).toBe(401)
    const login = await accounts.post('login', { email, password: 'tangerine-harbour-42' })
    expect(login.status).toBe(401)
    peer.person = { sub: `stranger ${email}` }
    const again = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    expect(again.user.id).not.toBe(stranger.user.id)
  })

  test('verifies the address of an account with a factor of a stranger only after the factor', async () => {
    const { email } = newPerson()
    const stranger = await accounts.register(email)
    await accounts.app.sql(
      "insert into basalt.mfa_factors (user_id, method, secret, confirmed_at) values ($1, 'totp', 'x', now())",
      [stranger.user.id],
    )
    expect(await jsonOf(new Browser().signIn(accounts.app, 'peer'))).toMatchObject({ mfa_pending: true })
    const [user] = await accounts.app.sql(
      `select u.email_verified_at, u.password_hash, p.proves_email
      from basalt.users u join basalt.pending_sign_ins p on p.user_id = u.id where u.id = $1`,
      [stranger.user.id],
    )
    expect(user).toEqual({ email_verified_at: null, password_hash: null, proves_email: true })
  })

  test('moves an unproven identity to the person who proves it, and signs in no other account', async () => {
    const { sub } = newPerson({ email: undefined })
    const { user } = await accounts.register()
    await accounts.app.sql(
      "insert into basalt.social_identities (provider, subject, user_id, is_proven) values ('peer', $1, $2, false)",
      [sub, user.id],
    )
    const body = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    expect(body.user.id).not.toBe(user.id)
    const [row] = await accounts.app.sql(
      'select user_id, is_proven from basalt.social_identities where subject = $1',
      [sub],
    )
    expect(row).toEqual({ user_id: body.user.id, is_proven: true })
  })

  test('rejects a disabled account', async () => {
    newPerson()
    const { user } = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    await accounts.app.sql('update basalt.users set disabled_at = now() where id = $1', [user.id])
    expect((await new Browser().signIn(accounts.app, 'peer')).status).toBe(401)
  })

  test('creates one account for ten concurrent first sign-ins of one person', async () => {
    newPerson()
    const answers = await Promise.all(
      Array.from({ length: 10 }, async () => await jsonOf(new Browser().signIn(accounts.app, 'peer'))),
    )
    expect(new Set(answers.map(({ user }) => user.id)).size).toBe(1)
  })

  test('returns a pending sign-in for an account with a second factor', async () => {
    newPerson()
    const { user } = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    await accounts.app.sql(
      "insert into basalt.mfa_factors (user_id, method, secret, confirmed_at) values ($1, 'totp', 'x', now())",
      [user.id],
    )
    const body = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    expect(body).toEqual({ mfa_pending: true, mfa_token: expect.any(String) })
    expect(claimsOf(body.mfa_token)).toMatchObject({ amr: ['oauth'], mfa_pending: true })
  })
})

describe('social login › cookies', () => {
  test('belong to this host only over https', async () => {
    const config = { ...oidcConfig(peer.issuer), 'server.public_base_url': 'https://api.example.com' }
    await using secure = await createAccountsApp({ config })
    const response = await new Browser().open(`${secure.app.url}/api/auth/oauth/peer`)
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-basalt_sign_in=[\w-]{43}; Path=\/; HttpOnly; Max-Age=600; SameSite=Lax; Secure$/,
      ),
    ])
    const url = new URL(response.headers.get('location') ?? '')
    expect(url.searchParams.get('redirect_uri')).toBe('https://api.example.com/api/auth/oauth/peer/callback')
  })

  test('are ignored when two have the same name', async () => {
    newPerson()
    const browser = new Browser()
    const callback = await browser.consent(await browser.start(accounts.app, 'peer'))
    const [own = ''] = [...browser.cookies.values()]
    const cookie = `basalt_sign_in=${own}; basalt_sign_in=${'x'.repeat(43)}`
    const refused = await fetch(callback, { headers: { cookie }, redirect: 'manual' })
    expect(refused.status).toBe(400)
  })
})

describe('social login › redirect', () => {
  test('carries the tokens, or the pending sign-in, in the fragment', async () => {
    newPerson()
    await using redirecting = await createAccountsApp({ config: { ...oidcConfig(peer.issuer), ...redirect } })
    const response = await new Browser().signIn(redirecting.app, 'peer', '?redirect_to=/welcome')
    expect(response.status).toBe(307)
    const target = new URL(response.headers.get('location') ?? '')
    expect(target.origin + target.pathname).toBe('https://app.example.com/welcome')
    const fragment = new URLSearchParams(target.hash.slice(1))
    expect([...fragment.keys()]).toEqual(['token', 'refreshToken'])
    const token = fragment.get('token') ?? undefined
    const me = await redirecting.app.request('GET', '/api/auth/me', { token })
    expect(me.status).toBe(200)
    await redirecting.app.sql(
      "insert into basalt.mfa_factors (user_id, method, secret, confirmed_at) values ($1, 'totp', 'x', now())",
      [me.json.id],
    )
    const pending = await new Browser().signIn(redirecting.app, 'peer')
    const hash = new URL(pending.headers.get('location') ?? '').hash.slice(1)
    expect([...new URLSearchParams(hash).keys()]).toEqual(['mfa_pending', 'mfa_token'])
    const refused = await redirecting.app.request(
      'GET',
      '/api/auth/oauth/peer?redirect_to=https://evil.example',
    )
    expect([refused.status, refused.json.message]).toEqual([400, 'invalid redirect_to'])
  })

  test('returns to the page with the error of a cancelled or failed sign-in', async () => {
    newPerson()
    await using redirecting = await createAccountsApp({ config: { ...oidcConfig(peer.issuer), ...redirect } })
    const page = (response: Response) => {
      const target = new URL(response.headers.get('location') ?? '')
      const fragment = [...new URLSearchParams(target.hash.slice(1))]
      return [response.status, `${target.origin}${target.pathname}`, fragment]
    }
    const errors = (error: string, description: string) => [
      ['error', error],
      ['error_description', description],
    ]
    const denied = errors('provider_denied', 'OAuth authentication was denied or failed')
    const browser = new Browser()
    const state = (await browser.start(redirecting.app, 'peer', '?redirect_to=/welcome')).searchParams.get(
      'state',
    )
    const callback = `${redirecting.app.url}/api/auth/oauth/peer/callback`
    const cancelled = `${callback}?error=access_denied&state=${state}`
    expect(page(await browser.open(cancelled))).toEqual([307, 'https://app.example.com/welcome', denied])
    // The user opens it again by the back button. The sign-in is no longer known.
    expect(page(await browser.open(cancelled))).toEqual([307, 'https://app.example.com/signed-in', denied])
    const failing = (await browser.start(redirecting.app, 'peer')).searchParams.get('state')
    expect(page(await browser.open(`${callback}?code=unknown&state=${failing}`))).toEqual([
      307,
      'https://app.example.com/signed-in',
      errors('provider_failed', 'failed to authenticate with provider'),
    ])
    expect(page(await browser.open(`${callback}?code=x&state=x`))).toEqual([
      307,
      'https://app.example.com/signed-in',
      errors('invalid_state', 'invalid or expired OAuth state'),
    ])
  })

  test('leads a browser on another loopback name to the host of the callback first', async () => {
    const { app } = accounts
    const other = app.url.replace('127.0.0.1', 'localhost')
    const first = await new Browser().open(`${other}/api/auth/oauth/peer?redirect_to=`)
    expect([first.status, first.headers.get('location'), first.headers.getSetCookie()]).toEqual([
      307,
      `${app.url}/api/auth/oauth/peer?redirect_to=`,
      [],
    ])
  })
})
