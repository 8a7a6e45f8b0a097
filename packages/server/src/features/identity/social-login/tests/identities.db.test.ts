import { createHmac, generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTransaction, waitForJobs } from '../../../../../test/account-nodes.ts'
import { type AccountsApp, createAccountsApp, goodPassword, newEmail } from '../../../../../test/accounts.ts'
import {
  Browser,
  continueLink,
  jsonOf,
  type OpenIdPeer,
  oidcConfig,
  type ProviderStandIn,
  startOpenIdPeer,
  startProviderStandIn,
} from '../../../../../test/social.ts'
import { envelope } from '../../../../../test/test-app.ts'

let peer: OpenIdPeer
let standIn: ProviderStandIn
let accounts: AccountsApp
beforeAll(async () => {
  peer = await startOpenIdPeer()
  standIn = await startProviderStandIn()
  const enabled = ['google', 'github', 'discord', 'twitch', 'gitlab', 'facebook', 'microsoft', 'spotify']
  const config = Object.fromEntries(
    enabled.flatMap((name) => [
      [`auth.oauth.${name}.enabled`, 'true'],
      [`auth.oauth.${name}.client_id`, 'ours'],
      [`auth.oauth.${name}.client_secret`, 'secret'],
    ]),
  )
  const apple = {
    'auth.oauth.apple.enabled': 'true',
    'auth.oauth.apple.client_id': 'ours',
    'auth.oauth.apple.team_id': 'TEAM',
    'auth.oauth.apple.key_id': 'KEY',
    'auth.oauth.apple.private_key': generateKeyPairSync('ec', { namedCurve: 'P-256' })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString(),
  }
  accounts = await createAccountsApp({
    config: { ...config, ...apple, ...oidcConfig(peer.issuer), 'auth.magic_link_enabled': 'false' },
    reachProvider: (url) => (url.startsWith(peer.issuer) ? url : standIn.reachProvider(url)),
  })
})
afterAll(async () => {
  await accounts[Symbol.asyncDispose]()
  await standIn[Symbol.asyncDispose]()
  await peer[Symbol.asyncDispose]()
})

function newPerson(more: Record<string, unknown> = {}): string {
  const email = newEmail()
  peer.person = { sub: `sub of ${email}`, email, email_verified: true, ...more }
  return email
}

async function anonymous() {
  return (await accounts.post('anonymous')).json
}

const link = (token: string, body: object) => accounts.post('link/oauth', body, token)

/** Sets the provider's responses to an access token of the client. */
function issueToken(clientId: string, id: string): void {
  const email = `user${id}@providers.example`
  Object.assign(standIn.answers, {
    'GET www.googleapis.com/oauth2/v2/userinfo': { id, email, verified_email: true, name: 'Ada' },
    'GET oauth2.googleapis.com/tokeninfo': { aud: clientId },
    'GET api.github.com/user': { id, login: 'ada' },
    'GET api.github.com/user/emails': [],
    'POST api.github.com/applications/ours/token':
      clientId === 'ours' ? { app: { client_id: 'ours' } } : { status: 404, text: '' },
    'GET discord.com/api/users/@me': { id, username: 'ada' },
    'GET discord.com/api/oauth2/@me': { application: { id: clientId } },
    'GET api.twitch.tv/helix/users': { data: [{ id, login: 'ada' }] },
    'GET id.twitch.tv/oauth2/validate': { client_id: clientId },
    'GET gitlab.com/api/v4/user': { id, username: 'ada' },
    'GET gitlab.com/oauth/token/info': { application: { uid: clientId } },
    'GET graph.facebook.com/v22.0/me': { id, name: 'Ada' },
    'GET graph.facebook.com/v22.0/debug_token': { data: { app_id: clientId, is_valid: true } },
    'GET graph.microsoft.com/v1.0/me': { id, displayName: 'Ada' },
    'GET api.spotify.com/v1/me': { id, email, display_name: 'Ada' },
  })
}

function graphToken(appid: string): string {
  return `e30.${Buffer.from(JSON.stringify({ appid })).toString('base64url')}.c2ln`
}

let count = 0
const newId = () => String(900_000 + ++count)

describe('social login › link by access token', () => {
  test.each(['google', 'github', 'discord', 'twitch', 'gitlab', 'facebook', 'microsoft'])(
    '%s: links an anonymous account to the identity and rejects a token of another client',
    async (provider) => {
      const id = newId()
      const { token, user } = await anonymous()
      issueToken('theirs', id)
      const foreign = await link(token, { provider, access_token: graphToken('theirs') })
      expect([foreign.status, foreign.json.message]).toEqual([
        400,
        'access token was issued to another client',
      ])
      issueToken('ours', id)
      const linked = await link(token, { provider, access_token: graphToken('ours') })
      expect(linked.status).toBe(200)
      expect(linked.json.user).toMatchObject({ id: user.id, is_anonymous: false })
      expect(linked.json.user.linked_at).toEqual(expect.any(String))
      const identities = await accounts.app.request('GET', '/api/auth/identities', {
        token: linked.json.token,
      })
      expect(identities.json).toMatchObject([{ provider, subject: id, proven: true }])
    },
  )

  test('uses the verified address, and returns 409 when another account has it', async () => {
    const id = newId()
    issueToken('ours', id)
    const { token } = await anonymous()
    const linked = await link(token, { provider: 'google', access_token: 'x' })
    expect(linked.json.user).toMatchObject({ email: `user${id}@providers.example`, emailVerified: true })
    Object.assign(standIn.answers, {
      'GET www.googleapis.com/oauth2/v2/userinfo': {
        id: newId(),
        email: `user${id}@providers.example`,
        verified_email: true,
      },
    })
    const refused = await link((await anonymous()).token, { provider: 'google', access_token: 'x' })
    expect([refused.status, refused.json.message]).toEqual([409, 'email already belongs to another account'])
  })

  test('links without an address, and not as a sign-in method, for a provider without an audience check', async () => {
    issueToken('ours', newId())
    const { token } = await anonymous()
    const linked = await link(token, { provider: 'spotify', access_token: 'x' })
    expect(linked.json.user).toMatchObject({ email: '', is_anonymous: false })
    const identities = await accounts.app.request('GET', '/api/auth/identities', {
      token: linked.json.token,
    })
    expect(identities.json).toMatchObject([{ provider: 'spotify', proven: false }])
  })

  test('rejects a session that ends before the request completes', async () => {
    issueToken('ours', newId())
    const { token, user } = await anonymous()
    await waitForJobs(accounts.app)
    await using ending = await openTransaction(accounts.app.database)
    await ending.sql('select from basalt.users where id = $1 for update', [user.id])
    const answer = link(token, { provider: 'github', access_token: 'x' })
    await ending.waitForBlocked()
    await ending.sql('delete from basalt.sessions where user_id = $1', [user.id])
    await ending.commit()
    expect(envelope(await answer)).toEqual({
      code: 401,
      message: 'invalid or expired token',
      error: 'invalid_token',
    })
    expect(
      await accounts.app.sql('select from basalt.social_identities where user_id = $1', [user.id]),
    ).toEqual([])
  })

  test('links one identity once for ten concurrent requests', async () => {
    issueToken('ours', newId())
    const callers = await Promise.all(Array.from({ length: 10 }, anonymous))
    const answers = await Promise.all(
      callers.map(({ token }) => link(token, { provider: 'github', access_token: 'x' })),
    )
    const statuses = answers.map(({ status }) => status).toSorted()
    expect(statuses).toEqual([200, ...Array(9).fill(409)])
    const refused = answers.find(({ status }) => status === 409)
    expect(refused?.json.message).toBe('OAuth identity already belongs to another account')
  })

  test('returns the documented errors', async () => {
    const { token } = await anonymous()
    const registered = await accounts.register()
    issueToken('ours', newId())
    standIn.answers['GET api.spotify.com/v1/me'] = { status: 401, text: 'no' }
    const cases = [
      [
        registered.token,
        { provider: 'google', access_token: 'x' },
        403,
        'only anonymous accounts can link credentials',
      ],
      [token, {}, 400, 'provider is required'],
      [token, { provider: 'google' }, 400, 'access_token is required'],
      [token, { provider: 'slack', access_token: 'x' }, 400, 'OAuth provider "slack" not configured'],
      [token, { provider: 'spotify', access_token: 'x' }, 502, 'failed to fetch user info from provider'],
    ] as const
    for (const [caller, body, status, message] of cases) {
      const answer = await link(caller, body)
      expect([answer.status, envelope(answer).message]).toEqual([status, message])
    }
  })
})

describe('social login › link by id_token of Apple', () => {
  const appleClaims = (more: object = {}) => {
    const sub = newId()
    const email = `user${sub}@privaterelay.example`
    return { iss: 'https://appleid.apple.com', aud: 'ours', sub, email, email_verified: 'true', ...more }
  }
  const show = (answer: Awaited<ReturnType<typeof link>>) => [answer.status, envelope(answer).message]
  const provider = 'apple'
  beforeAll(() => {
    standIn.answers['GET appleid.apple.com/auth/keys'] = standIn.keys
  })

  test.each(['id_token', 'access_token'])(
    'links an anonymous account to the identity in %s',
    async (member) => {
      const claims = appleClaims()
      const { token, user } = await anonymous()
      const linked = await link(token, { provider, [member]: standIn.signIdToken(claims) })
      expect(linked.status).toBe(200)
      expect(linked.json.user).toMatchObject({ id: user.id, email: claims.email, emailVerified: true })
      const identities = await accounts.app.request('GET', '/api/auth/identities', {
        token: linked.json.token,
      })
      expect(identities.json).toMatchObject([{ provider, subject: claims.sub, proven: true }])
    },
  )

  test.each([{ aud: 'theirs' }, { aud: ['ours', 'theirs'] }, { aud: undefined }])(
    'rejects an id_token of another client: %j',
    async (change) => {
      const id_token = standIn.signIdToken(appleClaims(change))
      expect(show(await link((await anonymous()).token, { provider, id_token }))).toEqual([
        400,
        'access token was issued to another client',
      ])
    },
  )

  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  test.each<[string, () => string]>([
    ['that has expired', () => standIn.signIdToken(appleClaims({ exp: Math.floor(Date.now() / 1000) - 60 }))],
    ['of the future', () => standIn.signIdToken(appleClaims({ iat: Math.floor(Date.now() / 1000) + 600 }))],
    ['not valid yet', () => standIn.signIdToken(appleClaims({ nbf: Math.floor(Date.now() / 1000) + 600 }))],
    ['of another issuer', () => standIn.signIdToken(appleClaims({ iss: 'https://evil.example' }))],
    [
      'that was changed',
      () => {
        const [header, , signature] = standIn.signIdToken(appleClaims()).split('.')
        return `${header}.${encode(appleClaims())}.${signature}`
      },
    ],
    ['without a signature', () => `${encode({ alg: 'none' })}.${encode(appleClaims())}.`],
    [
      'signed with a public key as secret',
      () => {
        const [{ kid: known }] = standIn.keys.keys as [{ kid: string }]
        const content = `${encode({ alg: 'HS256', kid: known })}.${encode(appleClaims())}`
        const mac = createHmac('sha256', JSON.stringify(standIn.keys.keys[0])).update(content)
        return `${content}.${mac.digest('base64url')}`
      },
    ],
    ['of an unknown key', () => `${encode({ alg: 'RS256', kid: 'unknown' })}.${encode(appleClaims())}.c2ln`],
    ['that is none', () => 'x'],
  ])('rejects an id_token %s', async (_what, make) => {
    const { token } = await anonymous()
    expect(show(await link(token, { provider, id_token: make() }))).toEqual([400, 'invalid id_token'])
  })

  test('requires an id_token, and returns 502 without the keys of Apple', async () => {
    const { token } = await anonymous()
    expect(show(await link(token, { provider }))).toEqual([400, 'access_token is required'])
    // Other providers accept only access tokens.
    expect(show(await link(token, { provider: 'google', id_token: 'x' }))).toEqual([
      400,
      'access_token is required',
    ])
    standIn.answers['GET appleid.apple.com/auth/keys'] = { status: 503, text: 'later' }
    const id_token = standIn.signIdToken(appleClaims())
    expect(show(await link(token, { provider, id_token }))).toEqual([
      502,
      'failed to fetch user info from provider',
    ])
    standIn.answers['GET appleid.apple.com/auth/keys'] = standIn.keys
  })
})

describe('social login › link by redirect', () => {
  const begin = async (token: string) =>
    (await accounts.post('link/oauth/begin', { provider: 'peer' }, token)).json.url as string

  test('shows a page that names the account, then links the provider to it', async () => {
    const email = newPerson()
    const { token, user } = await accounts.register()
    const browser = new Browser()
    const address = await begin(token)
    const page = await (await browser.open(address)).text()
    expect(page).toContain(user.email)
    const authorization = await browser.open(new URL(continueLink(page), accounts.app.url).href)
    expect(authorization.status).toBe(307)
    const callback = await browser.consent(new URL(authorization.headers.get('location') ?? ''))
    expect(await jsonOf(browser.open(callback.href))).toEqual({ linked: 'peer' })
    const signedIn = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    expect(signedIn.user).toMatchObject({ id: user.id, email: user.email })
    expect(signedIn.user.email).not.toBe(email)
    const again = await browser.open(new URL(continueLink(page), accounts.app.url).href)
    const second = await browser.consent(new URL(again.headers.get('location') ?? ''))
    expect((await jsonOf(browser.open(second.href))).message).toBe(
      'OAuth identity already linked to this account',
    )
  })

  test('shows the page again for the confirmation of another browser', async () => {
    newPerson()
    const { token } = await accounts.register()
    const page = await (await new Browser().open(await begin(token))).text()
    const other = await new Browser().open(new URL(continueLink(page), accounts.app.url).href)
    expect([other.status, other.headers.get('location')]).toEqual([200, null])
  })

  test('ends with the session that began it', async () => {
    newPerson()
    const { token, user } = await accounts.register()
    const browser = new Browser()
    const page = await (await browser.open(await begin(token))).text()
    const authorization = await browser.open(new URL(continueLink(page), accounts.app.url).href)
    const callback = await browser.consent(new URL(authorization.headers.get('location') ?? ''))
    await accounts.app.sql('delete from basalt.sessions where user_id = $1', [user.id])
    expect((await browser.open(callback.href)).status).toBe(400)
  })

  test('links nothing when the session ends while the account is locked', async () => {
    newPerson()
    const { token, user } = await accounts.register()
    const browser = new Browser()
    const page = await (await browser.open(await begin(token))).text()
    const authorization = await browser.open(new URL(continueLink(page), accounts.app.url).href)
    const callback = await browser.consent(new URL(authorization.headers.get('location') ?? ''))
    await waitForJobs(accounts.app)
    await using ending = await openTransaction(accounts.app.database)
    await ending.sql('select from basalt.users where id = $1 for update', [user.id])
    const answer = browser.open(callback.href)
    await ending.waitForBlocked()
    await ending.sql('delete from basalt.sessions where user_id = $1', [user.id])
    await ending.commit()
    expect((await jsonOf(answer)).message).toBe('invalid or expired OAuth state')
    expect(
      await accounts.app.sql('select from basalt.social_identities where user_id = $1', [user.id]),
    ).toEqual([])
  })
})

describe('social login › unlink', () => {
  const unlink = (token: string, body: object) =>
    accounts.app.request('DELETE', '/api/auth/link/oauth', { token, body })

  test('keeps the last sign-in method', async () => {
    newPerson()
    const { token } = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    const refused = await unlink(token, { provider: 'peer' })
    expect([refused.status, refused.json.error]).toEqual([409, 'last_way_in'])
    const changed = await accounts.post('change-password', { newPassword: goodPassword }, token)
    expect(changed.status).toBe(200)
    expect((await unlink(token, { provider: 'peer' })).status).toBe(204)
    const missing = await unlink(token, { provider: 'peer' })
    expect([missing.status, missing.json.message]).toEqual([404, 'OAuth identity link not found'])
  })

  test('keeps one of two providers that are unlinked at once', async () => {
    newPerson()
    const { token, user } = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    await accounts.app.sql(
      "insert into basalt.social_identities (provider, subject, user_id) values ('github', 'of ' || $1::text, $1::text::uuid)",
      [user.id],
    )
    const answers = await Promise.all(
      ['peer', 'github', 'peer', 'github'].map((provider) => unlink(token, { provider })),
    )
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1)
    const left = await accounts.app.request('GET', '/api/auth/identities', { token })
    expect(left.json).toHaveLength(1)
  })

  test('requires the second factor where one is enrolled', async () => {
    newPerson()
    const { token, user } = await jsonOf(new Browser().signIn(accounts.app, 'peer'))
    await accounts.app.sql(
      "insert into basalt.mfa_factors (user_id, method, secret, confirmed_at) values ($1, 'totp', 'x', now())",
      [user.id],
    )
    const refused = await unlink(token, { provider: 'peer' })
    expect([refused.status, refused.json.error]).toEqual([403, 'insufficient_aal'])
  })
})
