import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { addPasskey, enrollApp, passkeyBody } from '../../../../../test/administrator-factors.ts'
import { administratorPassword, inviteAdministrator } from '../../../../../test/administrators.ts'
import { createAuthenticator } from '../../../../../test/authenticator.ts'
import { totpCode } from '../../../../../test/second-factors.ts'
import { Browser, jsonOf, type OpenIdPeer, startOpenIdPeer } from '../../../../../test/social.ts'
import { basaltHere } from '../../../../../test/terminal.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { testAdminPassword, testConfig, testSecret } from '../../../../../test/test-config.ts'
import { withDatabase } from '../../../../cli/with-database.ts'
import { recoverAdministrator, signInMethodsOf } from '../../../operations/admin/index.ts'

let peer: OpenIdPeer
let config: Record<string, string>
let app: TestApp
let second: TestApp
let owner: string

beforeAll(async () => {
  peer = await startOpenIdPeer()
  config = {
    // Both nodes have the address of their load balancer.
    'server.public_base_url': 'http://basalt.example',
    'admin.oidc.issuer': peer.issuer,
    'admin.oidc.client_id': 'basalt',
    'admin.oidc.client_secret': 'a secret of the client',
    'admin.oidc.name': 'Example Ltd',
    'admin.oidc.roles': JSON.stringify({ chiefs: 'owner', makers: 'developer', 'help desk': 'support' }),
    'admin.oidc.trusted_factors': 'mfa',
  }
  app = await createTestApp({ config })
  second = await createTestApp({ config, database: app.database })
})
beforeEach(async () => {
  await app.sql(`
    delete from basalt.administrators where is_first is null;
    update basalt.administrators set role = 'owner', disabled_at = null, email = 'first@example.com';
    delete from basalt.administrator_identities; delete from basalt.jobs;
    delete from basalt.attempts`)
  owner = await signInOwner()
  await app.sql('delete from basalt.audit')
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await peer[Symbol.asyncDispose]()
})

/** Signs in the first administrator. @returns a token */
async function signInOwner(): Promise<string> {
  const body = { password: testAdminPassword }
  return (await app.request('POST', '/api/admin/auth', { body })).json.token
}

const now = () => Math.floor(Date.now() / 1000)

/** Makes the provider authenticate a person. */
function arrive(name: string, more: Record<string, unknown> = {}): void {
  const email = `${name}@example.com`
  peer.person = { sub: `sub of ${name}`, email, email_verified: true, auth_time: now(), ...more }
}

/** Sends a request of the dashboard. */
async function post(browser: Browser, path: string, body: object = {}, node = app, headers: object = {}) {
  return await browser.open(`${node.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-basalt-dashboard': '1', origin: node.url, ...headers },
    body: JSON.stringify(body),
  })
}

/** Begins a sign-in. @returns the authorization request */
async function start(browser: Browser, body: object = {}, node = app): Promise<URL> {
  return new URL((await jsonOf(post(browser, '/api/admin/auth/oidc', body, node))).url)
}

/** Opens a callback at a node, to which the load balancer leads. */
const arriveAt = (browser: Browser, { pathname, search }: URL, node = app) =>
  browser.open(`${node.url}${pathname}${search}`)

async function signIn(browser = new Browser(), body: object = {}): Promise<Response> {
  return await arriveAt(browser, await browser.consent(await start(browser, body)))
}

/** Signs in. @returns the status, and the name of the error or the address of the next page */
async function outcome(browser = new Browser()): Promise<readonly [number, string | undefined]> {
  return await outcomeOf(await signIn(browser))
}

async function outcomeOf(response: Response): Promise<readonly [number, string | undefined]> {
  const text = await response.text()
  return [response.status, response.headers.get('location') ?? /id="error">(\w+)</.exec(text)?.[1]]
}

const read = (browser: Browser, path: string, node = app) =>
  browser.open(`${node.url}${path}`, { headers: { 'x-basalt-dashboard': '1' } })

const session = async (browser: Browser, node = app) => {
  const response = await read(browser, '/api/admin/session', node)
  const { email, role } = await jsonOf(response)
  return [response.status, email, role]
}

const find = async (name: string) =>
  (await app.request('GET', '/api/admin/administrators', { token: owner })).json.items.find(
    ({ email }: { email: string }) => email === `${name}@example.com`,
  )

const signedIn = [303, 'http://basalt.example/admin'] as const

describe('POST /api/admin/auth/oidc', () => {
  test('begins a sign-in with state, nonce and PKCE S256, in this browser', async () => {
    const browser = new Browser()
    const { searchParams } = await start(browser)
    expect(Object.fromEntries(searchParams)).toMatchObject({
      client_id: 'basalt',
      redirect_uri: 'http://basalt.example/api/admin/auth/oidc/callback',
      response_type: 'code',
      scope: 'openid profile email',
      code_challenge_method: 'S256',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    })
    expect(browser.cookies.get('basalt_sign_in')).toMatch(/^[\w-]{43}$/)
    expect((await app.request('GET', '/api/admin/auth/methods')).json).toEqual({
      password: true,
      provider: { name: 'Example Ltd' },
    })
  })

  test('keeps its cookies to this host and to https, if the public address has https', async () => {
    const secure = { ...config, 'server.public_base_url': 'https://basalt.example' }
    await using node = await createTestApp({ config: secure, database: app.database })
    const browser = new Browser()
    const begun = await post(browser, '/api/admin/auth/oidc', {}, node)
    expect(begun.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-basalt_sign_in=[\w-]{43}; Path=\/; HttpOnly; Max-Age=600; SameSite=Lax; Secure$/,
      ),
    ])
    arrive('ada', { groups: ['makers'] })
    const callback = await browser.consent(new URL((await jsonOf(begun)).url))
    const finished = await arriveAt(browser, callback, node)
    expect([finished.status, finished.headers.getSetCookie()]).toEqual([
      303,
      [expect.stringMatching(/^__Host-basalt-admin=\w+; Path=\/; HttpOnly; SameSite=Strict; Secure$/)],
    ])
    expect((await session(browser, node))[1]).toBe('ada@example.com')
  })

  test('admits 300 sign-ins an hour from one address', async () => {
    expect((await post(new Browser(), '/api/admin/auth/oidc')).status).toBe(200)
    await app.sql("update basalt.attempts set count = 299 where key like 'admin.provider_sign_in:%'")
    expect((await post(new Browser(), '/api/admin/auth/oidc', {}, second)).status).toBe(200)
    const refused = await post(new Browser(), '/api/admin/auth/oidc')
    expect([refused.status, (await jsonOf(refused)).error]).toEqual([429, 'too_many_requests'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused.headers.getSetCookie()).toEqual([])
  })

  test('rejects a page of another origin', async () => {
    const foreign = { origin: 'https://evil.example' }
    const response = await post(new Browser(), '/api/admin/auth/oidc', {}, app, foreign)
    expect([response.status, (await jsonOf(response)).error]).toEqual([403, 'cross_site_request'])
  })

  test('returns to a page of the dashboard, and to no other', async () => {
    arrive('ada', { groups: ['makers'] })
    const returned = await signIn(new Browser(), { returnTo: '/admin/tables?q=1' })
    expect(returned.headers.get('location')).toBe('http://basalt.example/admin/tables?q=1')
    for (const returnTo of ['//evil.example/admin', 'https://evil.example', '/api/admin/sql']) {
      const refused = await post(new Browser(), '/api/admin/auth/oidc', { returnTo })
      expect([refused.status, (await jsonOf(refused)).error]).toEqual([400, 'invalid_return_to'])
    }
  })

  test('is not found without a provider', async () => {
    await using bare = await createTestApp()
    expect((await bare.request('POST', '/api/admin/auth/oidc', { body: {} })).json.error).toBe(
      'company_sign_in_not_configured',
    )
    expect((await bare.request('GET', '/api/admin/auth/methods')).json).toEqual({
      password: true,
      provider: null,
    })
  })

  test('returns 502 while the provider is down, and passwords still sign in', async () => {
    const down = await startOpenIdPeer()
    await down[Symbol.asyncDispose]()
    await using other = await createTestApp({ config: { ...config, 'admin.oidc.issuer': down.issuer } })
    const response = await post(new Browser(), '/api/admin/auth/oidc', {}, other)
    expect([response.status, (await jsonOf(response)).error]).toEqual([502, 'company_sign_in_failed'])
    expect(await other.adminToken()).toEqual(expect.any(String))
  })
})

describe('GET /api/admin/auth/oidc/callback', () => {
  test('binds the account to the administrator with its verified address', async () => {
    const token = await inviteAdministrator(app, 'support', owner)
    arrive('support', { groups: ['help desk'] })
    const browser = new Browser()
    expect(await outcome(browser)).toEqual(signedIn)
    expect(await session(browser, second)).toEqual([200, 'support@example.com', 'support'])
    expect(await find('support')).toMatchObject({ hasIdentity: true, hasPassword: true })
    // Later the account signs in, whatever its address.
    arrive('support', { groups: ['help desk'], email: 'other@example.com', email_verified: false })
    expect(await outcome()).toEqual(signedIn)
    expect((await app.request('GET', '/api/admin/session', { token })).status).toBe(200)
    const audit = await app.sql(
      "select action, administrator from basalt.audit where action ~ 'provider|identity' order by id",
    )
    const administrator = 'support@example.com'
    expect(audit).toEqual([
      { action: 'administrators.bind_identity', administrator },
      { action: 'admin.sign_in_by_provider', administrator },
      { action: 'admin.sign_in_by_provider', administrator },
    ])
  })

  test('creates an administrator with the role of the group that has most rights, and notifies owners', async () => {
    arrive('grace', { groups: ['help desk', 'makers', 'unknown'] })
    const browser = new Browser()
    expect(await outcome(browser)).toEqual(signedIn)
    expect(await session(browser)).toEqual([200, 'grace@example.com', 'developer'])
    expect(await find('grace')).toMatchObject({ hasPassword: false, hasIdentity: true })
    const jobs = await app.sql(
      "select payload ->> 'added' as added from basalt.jobs where type = 'administrator_mail'",
    )
    expect(jobs).toEqual([{ added: 'grace@example.com (developer)' }])
  })

  test('reads groups from the userinfo if the id_token has none', async () => {
    const { service } = peer.server
    const strip = (token: { payload: Record<string, unknown> }) => {
      delete token.payload.groups
    }
    arrive('joan', { groups: ['makers'] })
    service.on('beforeTokenSigning', strip)
    try {
      expect(await outcome()).toEqual(signedIn)
    } finally {
      service.off('beforeTokenSigning', strip)
    }
  })

  test('follows the groups at each sign-in. A lesser role ends sessions and tokens', async () => {
    arrive('mary', { groups: ['makers'] })
    const browser = new Browser()
    await signIn(browser)
    const created = await post(browser, '/api/admin/account/tokens', { name: 'build', expiresInDays: 1 })
    const { token } = await jsonOf(created)
    expect((await app.request('GET', '/api/admin/session', { token })).json.role).toBe('developer')
    arrive('mary', { groups: ['chiefs'] })
    const risen = new Browser()
    expect(await outcome(risen)).toEqual(signedIn)
    expect(await session(risen)).toEqual([200, 'mary@example.com', 'owner'])
    expect((await session(browser))[0]).toBe(200)
    arrive('mary', { groups: ['help desk'] })
    const reduced = new Browser()
    expect(await outcome(reduced)).toEqual(signedIn)
    expect(await session(reduced)).toEqual([200, 'mary@example.com', 'support'])
    expect([(await session(browser))[0], (await session(risen))[0]]).toEqual([401, 401])
    expect((await app.request('GET', '/api/admin/session', { token })).status).toBe(401)
  })

  test('disables an administrator without a group, until the next sign-in with one', async () => {
    await inviteAdministrator(app, 'developer', owner)
    arrive('developer', { groups: ['makers'] })
    const browser = new Browser()
    await signIn(browser)
    arrive('developer', { groups: [] })
    expect(await outcome()).toEqual([403, 'no_administrator_role'])
    expect((await session(browser))[0]).toBe(401)
    const byPassword = { email: 'developer@example.com', password: administratorPassword }
    expect((await app.request('POST', '/api/admin/auth', { body: byPassword })).status).toBe(401)
    expect(await find('developer')).toMatchObject({ isDisabled: true })
    expect(await outcome()).toEqual([403, 'no_administrator_role'])
    arrive('developer', { groups: ['help desk'] })
    expect(await outcome()).toEqual(signedIn)
    expect(await find('developer')).toMatchObject({ isDisabled: false, role: 'support' })
  })

  test('refuses an administrator whom an owner has disabled, whatever the groups', async () => {
    arrive('rita', { groups: ['makers'] })
    await signIn()
    arrive('rita', { groups: [] })
    await signIn()
    const { id } = await find('rita')
    const path = `/api/admin/administrators/${id}`
    await app.request('PATCH', path, { token: owner, body: { isDisabled: true } })
    arrive('rita', { groups: ['chiefs'] })
    expect(await outcome()).toEqual([403, 'administrator_access_disabled'])
    await app.request('PATCH', path, { token: owner, body: { isDisabled: false } })
    expect(await outcome()).toEqual(signedIn)
  })

  test('keeps the last owner, whatever the groups', async () => {
    arrive('first', { groups: ['makers'] })
    const browser = new Browser()
    expect(await outcome(browser)).toEqual(signedIn)
    expect(await session(browser)).toEqual([200, 'first@example.com', 'owner'])
    arrive('first', { groups: [] })
    expect(await outcome()).toEqual([403, 'no_administrator_role'])
    expect(await session(browser)).toEqual([200, 'first@example.com', 'owner'])
    // With another owner, the groups apply.
    arrive('mary', { groups: ['chiefs'] })
    await signIn()
    arrive('first', { groups: ['makers'] })
    await signIn(browser)
    expect(await session(browser)).toEqual([200, 'first@example.com', 'developer'])
  })

  test('keeps one owner of two, of whom a node demotes one while the groups demote the other', async () => {
    for (let round = 0; round < 5; round++) {
      await app.sql("update basalt.administrators set role = 'owner' where is_first")
      owner = await signInOwner()
      arrive('mary', { groups: ['chiefs'] })
      const browser = new Browser()
      await signIn(browser)
      const { id } = await find('first')
      const callback = await browser.consent(await start(browser))
      // The provider returns the groups of the time of the callback.
      arrive('mary', { groups: ['makers'] })
      const [patched, arrived] = await Promise.all([
        second.request('PATCH', `/api/admin/administrators/${id}`, {
          token: owner,
          body: { role: 'viewer' },
        }),
        arriveAt(browser, callback),
      ])
      expect(arrived.status).toBe(303)
      const roles = await app.sql('select role from basalt.administrators order by is_first')
      expect(roles.filter(({ role }) => role === 'owner')).toHaveLength(1)
      expect([200, 409]).toContain(patched.status)
    }
  })

  test.each([
    ['an unverified address', { email_verified: false }, 'unverified_admin_address'],
    ['no address', { email: undefined }, 'unverified_admin_address'],
    ['no group', { groups: ['unknown', 'constructor', '__proto__'] }, 'no_administrator_role'],
    ['the address of another account', { sub: 'another' }, 'administrator_bound_elsewhere'],
  ])('refuses a first sign-in with %s', async (_, more, error) => {
    arrive('ada', { groups: ['makers'] })
    if (error === 'administrator_bound_elsewhere') await signIn()
    arrive('ada', { groups: ['makers'], ...more })
    expect(await outcome()).toEqual([403, error])
  })

  test('is not found by an address of another case, nor by an id of another case', async () => {
    arrive('ada', { groups: ['makers'], email: 'ADA@Example.com' })
    expect(await outcome()).toEqual(signedIn)
    arrive('ada', { groups: ['makers'], sub: 'SUB OF ADA' })
    expect(await outcome()).toEqual([403, 'administrator_bound_elsewhere'])
  })

  test('accepts a state once, also for ten concurrent requests on two nodes', async () => {
    arrive('ada', { groups: ['makers'] })
    const browser = new Browser()
    const callback = await browser.consent(await start(browser))
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => arriveAt(browser, callback, index % 2 === 0 ? app : second)),
    )
    const statuses = answers.map(({ status }) => status).toSorted()
    expect(statuses).toEqual([303, ...Array.from({ length: 9 }, () => 400)])
    expect(await outcomeOf(await arriveAt(browser, callback))).toEqual([400, 'invalid_company_sign_in'])
  })

  test('creates one administrator for ten concurrent first sign-ins of a person on two nodes', async () => {
    arrive('ada', { groups: ['makers'] })
    const callbacks = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const browser = new Browser()
        return {
          browser,
          callback: await browser.consent(await start(browser)),
          node: index % 2 ? app : second,
        }
      }),
    )
    const answers = await Promise.all(
      callbacks.map(({ browser, callback, node }) => arriveAt(browser, callback, node)),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 303))
    const identities = await app.sql('select subject from basalt.administrator_identities')
    expect(identities).toEqual([{ subject: 'sub of ada' }])
  })

  test('rejects the state of another browser, which stays valid for its owner', async () => {
    arrive('ada', { groups: ['makers'] })
    const [own, other] = [new Browser(), new Browser()]
    const callback = await own.consent(await start(own))
    await start(other)
    for (const browser of [other, new Browser()]) {
      expect(await outcomeOf(await arriveAt(browser, callback))).toEqual([400, 'invalid_company_sign_in'])
    }
    expect((await arriveAt(own, callback)).status).toBe(303)
  })

  test('rejects a state after ten minutes, an unknown and a repeated one', async () => {
    arrive('ada', { groups: ['makers'] })
    const browser = new Browser()
    const callback = await browser.consent(await start(browser))
    await app.sql(
      "update basalt.administrator_provider_sign_ins set expires_at = now() - interval '1 second'",
    )
    const state = callback.searchParams.get('state')
    for (const search of [
      callback.search,
      '?code=x&state=unknown',
      `?code=x&state=${state}&state=x`,
      '?error=x',
    ]) {
      const refused = await browser.open(`${app.url}${callback.pathname}${search}`)
      expect(await outcomeOf(refused)).toEqual([400, 'invalid_company_sign_in'])
    }
  })

  test('reports that the provider denied the sign-in', async () => {
    const browser = new Browser()
    const state = (await start(browser)).searchParams.get('state')
    const path = `/api/admin/auth/oidc/callback?error=access_denied&state=${state}`
    expect(await outcomeOf(await browser.open(`${app.url}${path}`))).toEqual([403, 'company_sign_in_denied'])
  })

  test('rejects a response of another issuer (RFC 9207)', async () => {
    arrive('ada', { groups: ['makers'] })
    const browser = new Browser()
    const callback = await browser.consent(await start(browser))
    callback.searchParams.set('iss', 'https://honest.example')
    expect(await outcomeOf(await arriveAt(browser, callback))).toEqual([502, 'company_sign_in_failed'])
  })

  test.each([
    ['another audience', { aud: 'another client' }],
    ['another issuer', { iss: 'https://evil.example' }],
    ['another nonce', { nonce: 'of another sign-in' }],
    ['an end in the past', { exp: 1_000_000 }],
    ['a beginning in the future', { iat: now() + 3600 }],
  ])('rejects an id_token with %s', async (_, claims) => {
    arrive('ada', { groups: ['makers'], ...claims })
    expect(await outcome()).toEqual([502, 'company_sign_in_failed'])
    expect(await find('ada')).toBeUndefined()
  })

  test('rejects an id_token whose payload was changed', async () => {
    arrive('ada', { groups: ['help desk'] })
    peer.server.service.once('beforeResponse', (response) => {
      const body = response.body as { id_token: string }
      const [header, payload = '', signature] = body.id_token.split('.')
      const claims = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), groups: ['chiefs'] }
      const changed = Buffer.from(JSON.stringify(claims)).toString('base64url')
      response.body = { ...body, id_token: [header, changed, signature].join('.') }
    })
    expect(await outcome()).toEqual([502, 'company_sign_in_failed'])
  })
})

describe('admin.oidc.roles', () => {
  const enter = async (node: TestApp) => {
    const browser = new Browser()
    return await outcomeOf(
      await arriveAt(browser, await browser.consent(await start(browser, {}, node)), node),
    )
  }

  test('missing, leaves roles to owners and admits no stranger', async () => {
    const { 'admin.oidc.roles': _, ...plain } = config
    await using node = await createTestApp({ config: plain, database: app.database })
    await inviteAdministrator(app, 'support', owner)
    arrive('support', { groups: ['chiefs'] })
    expect(await enter(node)).toEqual(signedIn)
    expect(await find('support')).toMatchObject({ role: 'support' })
    arrive('eve')
    expect(await enter(node)).toEqual([403, 'no_administrator_role'])
    const { id } = await find('support')
    const body = { isDisabled: true }
    expect(
      (await app.request('PATCH', `/api/admin/administrators/${id}`, { token: owner, body })).status,
    ).toBe(200)
    arrive('support')
    expect(await enter(node)).toEqual([403, 'administrator_access_disabled'])
  })

  test('missing, gives strangers admin.oidc.default_role', async () => {
    const { 'admin.oidc.roles': _, ...plain } = config
    await using node = await createTestApp({
      config: { ...plain, 'admin.oidc.default_role': 'viewer' },
      database: app.database,
    })
    arrive('eve')
    expect(await enter(node)).toEqual(signedIn)
    expect(await find('eve')).toMatchObject({ role: 'viewer' })
  })
})

describe('second factor of administrators who sign in with a provider', () => {
  test('is due after the provider, unless it reports a trusted one', async () => {
    const token = await inviteAdministrator(app, 'developer', owner)
    const { secret } = await enrollApp(app, token)
    arrive('developer', { groups: ['makers'], amr: ['pwd'] })
    const browser = new Browser()
    const [status, location = ''] = await outcome(browser)
    expect([status, location]).toEqual([303, expect.stringContaining('/admin#mfa_token=basalt_pending_')])
    expect((await session(browser))[0]).toBe(401)
    const mfa_token = new URLSearchParams(new URL(location).hash.slice(1)).get('mfa_token')
    const finished = await post(browser, '/api/admin/session', { mfa_token, code: totpCode(secret) })
    expect(finished.status).toBe(200)
    expect(await session(browser)).toEqual([200, 'developer@example.com', 'developer'])
    for (const factors of [{ amr: ['pwd', 'mfa'] }, { acr: 'mfa', auth_time: undefined }]) {
      arrive('developer', { groups: ['makers'], ...factors })
      const trusted = new Browser()
      expect(await outcome(trusted)).toEqual(signedIn)
      expect((await session(trusted))[0]).toBe(200)
    }
  })

  test('is that of the provider if one is required of all', async () => {
    const strict = { ...config, 'admin.require_second_factor': 'true' }
    await using node = await createTestApp({ config: strict, database: app.database })
    const path = '/api/admin/account/tokens'
    const body = { name: 'build', expiresInDays: 1 }
    for (const [amr, status] of [
      [['pwd'], 403],
      [['mfa'], 201],
    ] as const) {
      arrive('ada', { groups: ['makers'], amr })
      const browser = new Browser()
      await arriveAt(browser, await browser.consent(await start(browser, {}, node)), node)
      const response = await post(browser, path, body, node)
      expect(response.status).toBe(status)
      if (status === 403) continue
      const { token } = await jsonOf(response)
      expect((await node.request('GET', '/api/admin/tables/overview', { token })).json.error).not.toBe(
        'second_factor_required',
      )
    }
  })
})

describe('POST /api/admin/account/step-up/oidc', () => {
  const sensitive = (browser: Browser) =>
    post(browser, '/api/admin/account/tokens', { name: 'build', expiresInDays: 1 })

  /** Signs in with an authentication of an hour ago. */
  async function signInStale(): Promise<Browser> {
    arrive('ada', { groups: ['makers'], auth_time: now() - 3600 })
    const browser = new Browser()
    await signIn(browser)
    return browser
  }

  async function stepUp(browser: Browser, more: Record<string, unknown>) {
    const response = await post(browser, '/api/admin/account/step-up/oidc', { returnTo: '/admin/account' })
    const url = new URL((await jsonOf(response)).url)
    expect(Object.fromEntries(url.searchParams)).toMatchObject({ prompt: 'login', max_age: '0' })
    arrive('ada', { groups: ['makers'], ...more })
    return await outcomeOf(await arriveAt(browser, await browser.consent(url)))
  }

  test('admits sensitive operations after a new authentication at the provider', async () => {
    const browser = await signInStale()
    const refused = await sensitive(browser)
    expect([refused.status, (await jsonOf(refused)).error]).toEqual([403, 'step_up_required'])
    expect(await stepUp(browser, {})).toEqual([303, 'http://basalt.example/admin/account'])
    expect((await sensitive(browser)).status).toBe(201)
    expect(
      await app.sql("select detail, administrator from basalt.audit where action = 'administrators.step_up'"),
    ).toEqual([{ detail: { method: 'provider' }, administrator: 'ada@example.com' }])
  })

  test.each([
    ['an authentication from before', { auth_time: now() - 300 }],
    ['no time of the authentication', { auth_time: undefined }],
    ['another account', { sub: 'sub of eve' }],
  ])('refuses %s', async (_, more) => {
    const browser = await signInStale()
    expect(await stepUp(browser, more)).toEqual([403, 'reauthentication_refused'])
    expect((await sensitive(browser)).status).toBe(403)
  })

  test('replaces no enrolled factor, unless the provider reports a trusted one', async () => {
    const token = await inviteAdministrator(app, 'developer', owner)
    await enrollApp(app, token)
    arrive('developer', { groups: ['makers'], amr: ['mfa'], auth_time: now() - 3600 })
    const browser = new Browser()
    await signIn(browser)
    const person = { sub: 'sub of developer', email: 'developer@example.com' }
    expect(await stepUp(browser, person)).toEqual([403, 'reauthentication_refused'])
    expect((await stepUp(browser, { ...person, amr: ['mfa'] }))[0]).toBe(303)
    expect((await sensitive(browser)).status).toBe(201)
  })

  test('ends on a page that closes its window, without a page to return to', async () => {
    const browser = await signInStale()
    const url = (await jsonOf(post(browser, '/api/admin/account/step-up/oidc'))).url
    arrive('ada', { groups: ['makers'] })
    const closing = await arriveAt(browser, await browser.consent(new URL(url)))
    expect([closing.status, await closing.text()]).toEqual([200, expect.stringContaining('window.close()')])
    expect((await sensitive(browser)).status).toBe(201)
  })

  test('requires a session, and is of no use to another one', async () => {
    expect((await post(new Browser(), '/api/admin/account/step-up/oidc')).status).toBe(401)
    const [victim, other] = [await signInStale(), await signInStale()]
    const url = (await jsonOf(post(victim, '/api/admin/account/step-up/oidc'))).url
    arrive('ada', { groups: ['makers'] })
    expect(await outcomeOf(await arriveAt(other, await other.consent(new URL(url))))).toEqual([
      400,
      'invalid_company_sign_in',
    ])
  })
})

describe('DELETE /api/admin/administrators/{id}/identity', () => {
  test('lets another account of the address sign in', async () => {
    arrive('ada', { groups: ['makers'] })
    const browser = new Browser()
    await signIn(browser)
    const path = `/api/admin/administrators/${(await find('ada')).id}/identity`
    expect((await app.request('DELETE', path, { token: owner })).status).toBe(204)
    expect((await session(browser))[0]).toBe(401)
    expect((await app.request('DELETE', path, { token: owner })).json.error).toBe('no_provider_identity')
    arrive('ada', { groups: ['makers'], sub: 'a new account' })
    expect(await outcome()).toEqual(signedIn)
  })
})

describe('admin.password_sign_in', () => {
  test('off, leaves the provider and links of the command line', async () => {
    const invited = await inviteAdministrator(app, 'developer', owner)
    const off = { ...config, 'admin.password_sign_in': 'false' }
    await using node = await createTestApp({ config: off, database: app.database })
    const email = 'developer@example.com'
    const password = administratorPassword
    const code = 'basalt_password_x'
    for (const [method, path, body] of [
      ['POST', '/api/admin/auth', { password: testAdminPassword }],
      ['POST', '/api/admin/auth', { email, password }],
      ['POST', '/api/admin/auth', { challenge_id: 'x', assertion_response: {} }],
      ['POST', '/api/admin/session', { email, password }],
      ['POST', '/api/admin/auth/passkey', {}],
      ['POST', '/api/admin/auth/forgot', { email }],
      ['POST', '/api/admin/auth/password', { code, password }],
      ['PUT', '/api/admin/account/password', { currentPassword: password, password }],
    ] as const) {
      const response = await node.request(method, path, { body, token: invited })
      expect([path, response.status, response.json.error]).toEqual([path, 403, 'password_sign_in_disabled'])
    }
    const body = { email: 'new@example.com', role: 'viewer' }
    const created = await node.request('POST', '/api/admin/administrators', { token: owner, body })
    expect([created.status, created.json.invitation]).toEqual([201, null])
    expect((await node.request('GET', '/api/admin/auth/methods')).json.password).toBe(false)
    const again = `/api/admin/administrators/${(await find('developer')).id}/invitation`
    const invitation = await node.request('POST', again, { token: owner })
    expect([invitation.status, invitation.json.error]).toEqual([403, 'password_sign_in_disabled'])

    const recovery = await withDatabase(
      testConfig({ 'database.url': app.database.url, ...off }),
      'basalt admin',
      ({ system }) => {
        const methods = signInMethodsOf(testConfig(off).admin)
        return recoverAdministrator({ database: system, methods }, email, { actor: 'command line' })
      },
    )
    const recovered = await node.request('POST', '/api/admin/auth', { body: { code: recovery } })
    expect(recovered.status).toBe(200)
    const { token } = recovered.json
    expect((await node.request('GET', '/api/admin/session', { token })).json.role).toBe('owner')
  })

  test('off, requires an enrolled factor after the provider', async () => {
    const token = await inviteAdministrator(app, 'developer', owner)
    const { secret } = await enrollApp(app, token)
    const authenticator = createAuthenticator({ origin: 'http://basalt.example', verifiesUser: true })
    expect((await addPasskey(app, token, authenticator)).status).toBe(200)
    const off = { ...config, 'admin.password_sign_in': 'false' }
    await using node = await createTestApp({ config: off, database: app.database })
    const passProvider = async (browser: Browser) => {
      arrive('developer', { groups: ['makers'] })
      const callback = await browser.consent(await start(browser, {}, node))
      const [, location = ''] = await outcomeOf(await arriveAt(browser, callback, node))
      expect((await session(browser, node))[0]).toBe(401)
      return new URLSearchParams(new URL(location).hash.slice(1)).get('mfa_token') ?? ''
    }
    const finish = async (browser: Browser, body: object) => {
      const { status } = await post(browser, '/api/admin/session', body, node)
      return [status, (await session(browser, node))[1]]
    }
    const byCode = new Browser()
    const mfa_token = await passProvider(byCode)
    expect(await finish(byCode, { mfa_token, code: '000000' })).toEqual([401, undefined])
    const signedIn = [200, 'developer@example.com']
    expect(await finish(byCode, { mfa_token, code: totpCode(secret) })).toEqual(signedIn)
    const byPasskey = new Browser()
    const body = await passkeyBody(node, authenticator, await passProvider(byPasskey))
    expect(await finish(byPasskey, body)).toEqual(signedIn)
  })

  test('off, makes commands print sign-in links instead of passwords', async () => {
    const off = { ...config, 'admin.password_sign_in': 'false' }
    await using node = await createTestApp({ config: off, database: app.database })
    const env = {
      BASALT_DATABASE_URL: app.database.url,
      BASALT_AUTH_JWT_SECRET: testSecret,
      ...Object.fromEntries(
        Object.entries(off).map(([name, value]) => [
          `BASALT_${name.replaceAll('.', '_').toUpperCase()}`,
          value,
        ]),
      ),
    }
    const [first] = await app.sql('select password_hash as hash from basalt.administrators where is_first')
    const hash = first?.hash
    expect(await basaltHere(['admin', 'reset-password'], { env })).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('admin.password_sign_in is off: run basalt admin recover'),
    })
    const { code, stdout, stderr } = await basaltHere(['admin', 'recover'], { env })
    expect(stderr).toContain('the first administrator is now an enabled owner')
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^http:\/\/basalt\.example\/admin\/sign-in#code=basalt_signin_\w{49}\n$/),
    ])
    const body = { code: new URLSearchParams(new URL(stdout).hash.slice(1)).get('code') }
    expect((await node.request('POST', '/api/admin/auth', { body })).status).toBe(200)
    expect((await node.request('POST', '/api/admin/auth', { body })).status).toBe(401)
    // The recovery has removed the password with which the other tests sign in.
    await app.sql('update basalt.administrators set password_hash = $1 where is_first', [hash])
  })

  test('off, keeps the last owner with an account at the provider', async () => {
    const off = { ...config, 'admin.password_sign_in': 'false' }
    await using node = await createTestApp({ config: off, database: app.database })
    arrive('mary', { groups: ['chiefs'] })
    await signIn()
    const path = `/api/admin/administrators/${(await find('mary')).id}`
    const refused = await node.request('PATCH', path, { token: owner, body: { role: 'viewer' } })
    expect([refused.status, refused.json.error]).toEqual([409, 'last_owner'])
    expect((await app.request('PATCH', path, { token: owner, body: { role: 'viewer' } })).status).toBe(200)
  })

  test('off, stops the start if no owner could sign in', async () => {
    const off = {
      ...config,
      'admin.password_sign_in': 'false',
      'admin.oidc.roles': JSON.stringify({ makers: 'developer' }),
    }
    await app.sql('update basalt.administrators set email = null')
    const start = () =>
      createTestApp({ config: off, database: app.database }).catch((error: Error) => error.message)
    expect(await start()).toContain('no owner could sign in with the provider')
    await app.sql("update basalt.administrators set email = 'first@example.com'")
    await using node = await createTestApp({ config: off, database: app.database })
    expect((await node.request('GET', '/api/admin/auth/methods')).status).toBe(200)
  })
})
