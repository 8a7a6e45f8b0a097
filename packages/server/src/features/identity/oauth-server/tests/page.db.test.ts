import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AccountsApp,
  createAccountsApp,
  goodPassword,
  newEmail,
  type SignedIn,
} from '../../../../../test/accounts.ts'
import { tokenIn } from '../../../../../test/inbox.ts'
import {
  authorizationRequest,
  callback,
  createClient,
  createProof,
  redeem,
  type TestClient,
} from '../../../../../test/oauth.ts'
import { attributeOf, inputsOf } from '../../../../../test/page-forms.ts'
import { aal2Session, enrollTotp, sentCode, totpCode, totpUser } from '../../../../../test/second-factors.ts'

let accounts: AccountsApp
let client: TestClient
const proof = createProof()
const state = 'CR\r LF\n + & % "<b>"'

beforeAll(async () => {
  accounts = await createAccountsApp({
    config: {
      'auth.oauth_provider.enabled': 'true',
      'auth.totp_enabled': 'true',
      'auth.email_mfa_enabled': 'true',
    },
  })
  const { user } = await accounts.register()
  client = await createClient(accounts.app, {
    name: 'Calendar <script>',
    appId: await appOf(user.id),
  })
})
afterAll(() => accounts[Symbol.asyncDispose]())

async function appOf(ownerUserId: string): Promise<string> {
  const token = await accounts.app.adminToken()
  const body = { name: 'app', ownerUserId }
  return (await accounts.app.request('POST', '/api/admin/apps', { token, body })).json.id
}

/** Browser without a script: it stores the cookie and sends forms unchanged. */
class Browser {
  cookie = ''
  status = 0
  headers = new Headers()
  html = ''

  async open(query: string): Promise<this> {
    return await this.#request(`/oauth/authorize?${query}`, {})
  }

  /** Sends the form of a step with the values of a user. */
  async submit(step: string, values: Readonly<Record<string, string>> = {}): Promise<this> {
    const body = new URLSearchParams({ ...inputsOf(this.html, step), ...values })
    return await this.#request('/oauth/authorize', { method: 'POST', body })
  }

  get location(): URL {
    return new URL(this.headers.get('location') ?? '')
  }

  async #request(path: string, init: RequestInit): Promise<this> {
    const headers = this.cookie === '' ? {} : { cookie: this.cookie }
    const response = await fetch(accounts.app.url + path, { ...init, headers, redirect: 'manual' })
    const [cookie] = response.headers.get('set-cookie')?.split(';') ?? []
    if (cookie !== undefined) this.cookie = cookie
    this.status = response.status
    this.headers = response.headers
    this.html = await response.text()
    return this
  }
}

const query = (more: object = {}) =>
  String(new URLSearchParams(authorizationRequest(client, proof, { state, ...more })))

async function signIn(user: SignedIn['user']): Promise<Browser> {
  const browser = await new Browser().open(query())
  return await browser.submit('password', { email: user.email, password: goodPassword })
}

describe('oauth server › page', () => {
  test('signs in, requests consent and redirects with code, state and issuer', async () => {
    const { user } = await accounts.register()
    const browser = await new Browser().open(query({ scope: 'readonly', allowed_tables: 'note' }))
    expect([browser.status, browser.headers.get('x-frame-options')]).toEqual([200, 'DENY'])
    expect(browser.html).toContain('Calendar &#60;script&#62;')
    expect(browser.headers.get('cache-control')).toBe('no-store')
    const policy = browser.headers.get('content-security-policy')
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("form-action 'self' https://client.example.com;")
    expect(policy).toMatch(/script-src 'sha256-[^' ]+';/)
    expect(browser.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Strict$/)
    await browser.submit('password', { email: user.email, password: goodPassword })
    expect(browser.html).toMatch(/wants to <b>read<\/b> your data in <code>note<\/code>/)
    expect(browser.html).toContain('<b>client.example.com</b>')
    // The content of the cookie between sign-in and consent is useless elsewhere.
    const [, held = ''] = browser.cookie.split('=')
    for (const token of [held, held.split('.').at(-1), decodeURIComponent(held)]) {
      const me = await accounts.app.request('GET', '/api/auth/me', { token })
      expect([token?.includes('eyJ'), me.status]).toEqual([false, 401])
    }
    await browser.submit('consent', { decision: 'approve' })
    expect(browser.status).toBe(303)
    const { searchParams } = browser.location
    expect(searchParams.get('state')).toBe(state)
    expect(searchParams.get('iss')).toBe(accounts.app.url)
    const code = searchParams.get('code') ?? ''
    const tokens = (await redeem(accounts.app, client, proof, code)).json
    expect(tokens).toMatchObject({ scope: 'readonly', allowed_tables: ['note'] })
    const sessions = await accounts.app.sql('select 1 from basalt.sessions where user_id = $1', [user.id])
    // The only session is that of the registration.
    expect(sessions).toHaveLength(1)
  })

  test('names the actions that the client requests', async () => {
    const { user } = await accounts.register()
    const acting = await createClient(accounts.app, {
      appId: await appOf(user.id),
      scopes: ['readonly', 'email:send', 'function:check-out'],
    })
    const change = { state, scope: 'function:check-out email:send readonly' }
    const browser = await new Browser().open(
      String(new URLSearchParams(authorizationRequest(acting, proof, change))),
    )
    await browser.submit('password', { email: user.email, password: goodPassword })
    expect(browser.html).toContain(
      '<p id="actions">It also wants to <b>send mail on your behalf and use <code>check-out</code> as you</b>.</p>',
    )
    await browser.submit('consent', { decision: 'approve' })
    const code = browser.location.searchParams.get('code') ?? ''
    expect((await redeem(accounts.app, acting, proof, code)).json.scope).toBe(
      'readonly email:send function:check-out',
    )
    expect((await signIn(user)).html).not.toContain('id="actions"')
  })

  test('warns of a client that no administrator has registered', async () => {
    const { user } = await accounts.register()
    expect((await signIn(user)).html).not.toContain('id="unchecked"')
    const become = (source: string) =>
      accounts.app.sql('update basalt.oauth_clients set source = $1 where client_id = $2', [
        source,
        client.clientId,
      ])
    await become('registration')
    expect((await signIn(user)).html).toMatch(/id="unchecked"[^>]*>It has registered itself\. /)
    await become('administrator')
  })

  test('issues one code for an approval that is sent several times at once', async () => {
    const { user } = await accounts.register()
    const browser = await signIn(user)
    const tabs = Array.from({ length: 10 }, () => Object.assign(new Browser(), browser))
    await Promise.all(tabs.map((tab) => tab.submit('consent', { decision: 'approve' })))
    const led = tabs.filter(({ status }) => status === 303)
    expect(led.map(({ location }) => location.searchParams.has('code'))).toEqual([true])
    const others = tabs.filter(({ status }) => status !== 303)
    for (const { html } of others) expect(html).toContain('The sign-in has expired')
    const codes = await accounts.app.sql('select 1 from basalt.oauth_codes where user_id = $1', [user.id])
    expect(codes).toHaveLength(1)
  })

  test('requires a new sign-in when a second factor was enrolled in the meantime', async () => {
    const { token, user } = await accounts.register()
    const browser = await signIn(user)
    const { secret } = await enrollTotp(accounts.post, token)
    await browser.submit('consent', { decision: 'approve' })
    expect(browser.headers.get('content-type')).toMatch(/^text\/html/)
    expect(browser.html).toContain('The sign-in has expired')
    await browser.submit('password', { email: user.email, password: goodPassword })
    await browser.submit('totp', { code: totpCode(secret) })
    await browser.submit('consent', { decision: 'approve' })
    expect(browser.location.searchParams.has('code')).toBe(true)
  })

  test('does not request the same consent twice', async () => {
    const { user } = await accounts.register()
    await (await signIn(user)).submit('consent', { decision: 'approve' })
    const again = await signIn(user)
    expect([again.status, again.location.searchParams.has('code')]).toEqual([303, true])
  })

  test('redirects with access_denied', async () => {
    const { user } = await accounts.register()
    const browser = await (await signIn(user)).submit('consent', { decision: 'deny' })
    expect(Object.fromEntries(browser.location.searchParams)).toMatchObject({ error: 'access_denied', state })
  })

  test('shows the problem of a failed sign-in', async () => {
    const { user } = await accounts.register()
    const browser = await new Browser().open(query())
    await browser.submit('password', { email: user.email, password: 'wrong' })
    expect([browser.status, browser.html.includes('Invalid email or password.')]).toEqual([401, true])
    await browser.submit('password', { email: user.email, password: goodPassword })
    expect(browser.html).toContain('id="consent"')
  })

  test('accepts a pasted mailed link', async () => {
    const { user } = await accounts.register()
    const browser = await (await new Browser().open(query())).submit('mail', { email: user.email })
    let mail = await accounts.inbox.take(user.email)
    while (mail.text?.includes('/auth/magic-link') !== true) mail = await accounts.inbox.take(user.email)
    await browser.submit('link', { link: `https://example.com/auth/magic-link?token=${tokenIn(mail)}` })
    expect(browser.html).toContain('id="consent"')
  })

  test('requires a second factor, which no step can skip', async () => {
    const email = newEmail()
    const { token, user } = await accounts.register(email)
    const { secret } = await enrollTotp(accounts.post, token)
    const browser = await signIn(user)
    expect(browser.html).toContain('One more step')
    expect(browser.html).not.toContain('id="consent"')
    // Neither consent nor another sign-in step skips the factor.
    await browser.submit('consent', { decision: 'approve', request: query(), step: 'consent' })
    expect([browser.status, browser.html.includes('One more step')]).toEqual([200, true])
    await browser.submit('totp', { code: '000000' })
    expect([browser.status, browser.html.includes('Invalid TOTP code')]).toEqual([401, true])
    await browser.submit('totp', { code: totpCode(secret) })
    expect(browser.html).toContain('id="consent"')
    await browser.submit('consent', { decision: 'approve' })
    expect(browser.location.searchParams.has('code')).toBe(true)
  })

  test('accepts a mailed code or a backup code as second factor', async () => {
    const totp = await totpUser(accounts)
    const { user } = totp
    await accounts.app.sql(
      `insert into basalt.mfa_factors (user_id, method, confirmed_at) values ($1, 'email', now())`,
      [user.id],
    )
    const browser = await signIn(user)
    await browser.submit('send-email')
    await browser.submit('email', { code: await sentCode(accounts, user.email) })
    expect(browser.html).toContain('id="consent"')
    const { token } = await aal2Session(accounts, totp)
    const { codes } = (await accounts.post('mfa/backup/generate', undefined, token)).json
    const again = await signIn(user)
    await again.submit('backup', { code: 'aaaaa-aaaaa' })
    expect(again.status).toBe(401)
    await again.submit('backup', { code: codes[0] })
    expect(again.html).toContain('id="consent"')
  })

  test('signs in by text message', async () => {
    const browser = await (await new Browser().open(query())).submit('phone', { phone: '+12025550123' })
    await browser.submit('phone-code', { code: await sentCode(accounts, '+12025550123') })
    expect(browser.html).toContain('id="consent"')
  })

  test('ignores a form of another site, and one without its cookie', async () => {
    const { user } = await accounts.register()
    const browser = await new Browser().open(query())
    const own = browser.cookie
    browser.cookie = ''
    await browser.submit('password', { email: user.email, password: goodPassword })
    expect(browser.html).not.toContain('id="consent"')
    const signedIn = await signIn(user)
    const body = new URLSearchParams({ ...inputsOf(signedIn.html, 'consent'), decision: 'approve' })
    const response = await fetch(`${accounts.app.url}/oauth/authorize`, {
      method: 'POST',
      body,
      headers: { cookie: signedIn.cookie, 'sec-fetch-site': 'cross-site' },
      redirect: 'manual',
    })
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('Sign in to continue')
    const unsigned = new Browser()
    unsigned.cookie = own
    unsigned.html = signedIn.html
    await unsigned.submit('consent', { decision: 'approve' })
    expect([unsigned.status, unsigned.html.includes('The sign-in has expired')]).toEqual([200, true])
  })

  test('redirects errors to a known client, and shows the others', async () => {
    const back = await new Browser().open(query({ scope: 'all' }))
    expect([back.status, back.location.origin + back.location.pathname]).toEqual([303, callback])
    expect(Object.fromEntries(back.location.searchParams)).toEqual({
      error: 'invalid_scope',
      error_description: 'requested scope is not allowed for this client',
      state,
      iss: accounts.app.url,
    })
    for (const [search, error, error_description] of [
      [query({ response_type: 'token' }), 'unsupported_response_type', 'response_type must be code'],
      [query({ response_type: '' }), 'invalid_request', 'response_type must be code'],
      [`${query()}&scope=readonly`, 'invalid_request', 'scope must not be repeated'],
    ] as const) {
      const led = await new Browser().open(search)
      expect([led.status, led.location.origin + led.location.pathname]).toEqual([303, callback])
      const answer = { error, error_description, state, iss: accounts.app.url }
      expect(Object.fromEntries(led.location.searchParams)).toEqual(answer)
    }
    for (const more of [{ client_id: 'x' }, { redirect_uri: 'https://evil.example/' }]) {
      const description = await new Browser().open(query(more))
      expect([description.status >= 400, description.headers.get('location')]).toEqual([true, null])
      expect(attributeOf(description.html, 'role')).toBe('alert')
    }
    for (const again of ['redirect_uri=https://evil.example/', 'client_id=x', 'state=x']) {
      const doubled = await new Browser().open(`${query()}&${again}`)
      expect([doubled.status, doubled.headers.get('location')]).toEqual([400, null])
    }
  })
})
