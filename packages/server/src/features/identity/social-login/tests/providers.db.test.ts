import { generateKeyPairSync, verify } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AccountsApp, createAccountsApp } from '../../../../../test/accounts.ts'
import {
  Browser,
  jsonOf,
  type ProviderRequest,
  type ProviderStandIn,
  startProviderStandIn,
} from '../../../../../test/social.ts'
import { builtInProviders } from '../providers/index.ts'

const appleKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const special: Record<string, string> = {
  'auth.oauth.microsoft.tenant_id': 'organizations',
  'auth.oauth.apple.team_id': 'TEAM',
  'auth.oauth.apple.key_id': 'KEY',
  'auth.oauth.apple.private_key': appleKeys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  'auth.oauth.gitlab.gitlab_base_url': 'https://git.example.com/',
}

let standIn: ProviderStandIn
let accounts: AccountsApp
beforeAll(async () => {
  standIn = await startProviderStandIn()
  const names = Object.keys(builtInProviders)
  const config = Object.fromEntries(
    names.flatMap((name) => [
      [`auth.oauth.${name}.enabled`, 'true'],
      [`auth.oauth.${name}.client_id`, `client-of-${name}`],
      ...(name === 'apple' ? [] : [[`auth.oauth.${name}.client_secret`, `secret-of-${name}`]]),
      [`auth.oauth.${name}.store_provider_tokens`, 'true'],
    ]),
  )
  accounts = await createAccountsApp({
    config: { ...config, ...special },
    reachProvider: standIn.reachProvider,
  })
})
afterAll(async () => {
  await accounts[Symbol.asyncDispose]()
  await standIn[Symbol.asyncDispose]()
})
beforeEach(() => {
  standIn.requests.length = 0
  for (const name of Object.keys(standIn.answers)) delete standIn.answers[name]
})

/** Documented behaviour of a provider, with the expected result. */
interface Case {
  /** Authorization endpoint, and parameters in addition to the common ones. */
  readonly authorize: string
  readonly parameters: Record<string, string>
  readonly pkce: boolean
  readonly token: string
  readonly authentication: 'basic' | 'body'
  readonly isJson?: boolean
  readonly tokenResponse?: (request: ProviderRequest) => object
  readonly answers: Record<string, object>
  readonly identity: { subject: string; email: string | null; name: string | null }
  /** Address of the account that is created. */
  readonly account: string
}

const bearer = { access_token: 'an access token', token_type: 'bearer', expires_in: 3600 }
let nonce: string | undefined

const cases: Record<keyof typeof builtInProviders, Case> = {
  google: {
    authorize: 'https://accounts.google.com/o/oauth2/v2/auth',
    parameters: { scope: 'openid email profile', access_type: 'offline' },
    pkce: true,
    token: 'oauth2.googleapis.com/token',
    authentication: 'body',
    tokenResponse: () => ({
      ...bearer,
      scope: 'openid email profile',
      refresh_token: 'a refresh token',
      id_token: standIn.signIdToken({
        iss: 'https://accounts.google.com',
        aud: 'client-of-google',
        sub: '1001',
        nonce,
      }),
    }),
    answers: {
      'GET www.googleapis.com/oauth2/v2/userinfo': {
        id: '1001',
        email: 'ada@gmail.example',
        verified_email: true,
        name: 'Ada L',
      },
    },
    identity: { subject: '1001', email: 'ada@gmail.example', name: 'Ada L' },
    account: 'ada@gmail.example',
  },
  github: {
    authorize: 'https://github.com/login/oauth/authorize',
    parameters: { scope: 'user:email' },
    pkce: true,
    token: 'github.com/login/oauth/access_token',
    authentication: 'body',
    answers: {
      'GET api.github.com/user': { id: 1002, login: 'ada', name: null, email: null },
      'GET api.github.com/user/emails': [
        { email: 'old@github.example', primary: false, verified: true },
        { email: 'ada@github.example', primary: true, verified: true },
      ],
    },
    identity: { subject: '1002', email: 'ada@github.example', name: 'ada' },
    account: 'ada@github.example',
  },
  microsoft: {
    authorize: 'https://login.microsoftonline.com/organizations/oauth2/v2.0/authorize',
    parameters: { scope: 'openid profile email User.Read' },
    pkce: true,
    token: 'login.microsoftonline.com/organizations/oauth2/v2.0/token',
    authentication: 'body',
    tokenResponse: () => ({
      ...bearer,
      id_token: standIn.signIdToken({ aud: 'client-of-microsoft', email: 'ada@contoso.example' }),
    }),
    answers: {
      'GET graph.microsoft.com/v1.0/me': {
        id: 'oid-1003',
        mail: 'ada@contoso.example',
        userPrincipalName: 'ada@contoso.example',
        displayName: 'Ada',
      },
    },
    identity: { subject: 'oid-1003', email: 'ada@contoso.example', name: 'Ada' },
    account: '',
  },
  apple: {
    authorize: 'https://appleid.apple.com/auth/authorize',
    parameters: { scope: 'name email', response_mode: 'form_post' },
    pkce: false,
    token: 'appleid.apple.com/auth/token',
    authentication: 'body',
    tokenResponse: () => ({
      ...bearer,
      id_token: standIn.signIdToken({
        iss: 'https://appleid.apple.com',
        aud: 'client-of-apple',
        sub: '1004',
        email: 'x@privaterelay.example',
        email_verified: 'true',
        nonce,
      }),
    }),
    answers: {},
    identity: { subject: '1004', email: 'x@privaterelay.example', name: 'Ada Lovelace' },
    account: 'x@privaterelay.example',
  },
  discord: {
    authorize: 'https://discord.com/api/oauth2/authorize',
    parameters: { scope: 'identify email' },
    pkce: true,
    token: 'discord.com/api/oauth2/token',
    authentication: 'body',
    answers: {
      'GET discord.com/api/users/@me': {
        id: '1005',
        username: 'ada',
        global_name: 'Ada',
        email: 'ada@discord.example',
        verified: true,
      },
    },
    identity: { subject: '1005', email: 'ada@discord.example', name: 'Ada' },
    account: 'ada@discord.example',
  },
  twitter: {
    authorize: 'https://twitter.com/i/oauth2/authorize',
    parameters: { scope: 'users.read tweet.read offline.access' },
    pkce: true,
    token: 'api.twitter.com/2/oauth2/token',
    authentication: 'basic',
    answers: { 'GET api.twitter.com/2/users/me': { data: { id: '1006', name: 'Ada', username: 'ada' } } },
    identity: { subject: '1006', email: null, name: 'Ada' },
    account: '',
  },
  facebook: {
    authorize: 'https://www.facebook.com/v22.0/dialog/oauth',
    parameters: { scope: 'email public_profile' },
    pkce: true,
    token: 'graph.facebook.com/v22.0/oauth/access_token',
    authentication: 'body',
    answers: {
      'GET graph.facebook.com/v22.0/me': { id: '1007', name: 'Ada', email: 'ada@facebook.example' },
    },
    identity: { subject: '1007', email: 'ada@facebook.example', name: 'Ada' },
    account: '',
  },
  linkedin: {
    authorize: 'https://www.linkedin.com/oauth/v2/authorization',
    parameters: { scope: 'openid profile email' },
    pkce: false,
    token: 'www.linkedin.com/oauth/v2/accessToken',
    authentication: 'body',
    tokenResponse: () => ({ access_token: 'an access token', expires_in: 3600, id_token: 'not looked at' }),
    answers: {
      'GET api.linkedin.com/v2/userinfo': {
        sub: '1008',
        name: 'Ada',
        email: 'ada@linkedin.example',
        email_verified: true,
      },
    },
    identity: { subject: '1008', email: 'ada@linkedin.example', name: 'Ada' },
    account: 'ada@linkedin.example',
  },
  spotify: {
    authorize: 'https://accounts.spotify.com/authorize',
    parameters: { scope: 'user-read-email user-read-private' },
    pkce: true,
    token: 'accounts.spotify.com/api/token',
    authentication: 'body',
    answers: {
      'GET api.spotify.com/v1/me': { id: '1009', display_name: 'Ada', email: 'ada@spotify.example' },
    },
    identity: { subject: '1009', email: 'ada@spotify.example', name: 'Ada' },
    account: '',
  },
  twitch: {
    authorize: 'https://id.twitch.tv/oauth2/authorize',
    parameters: { scope: 'user:read:email' },
    pkce: false,
    token: 'id.twitch.tv/oauth2/token',
    authentication: 'body',
    tokenResponse: () => ({ ...bearer, scope: ['user:read:email'] }),
    answers: {
      'GET api.twitch.tv/helix/users': {
        data: [{ id: '1010', login: 'ada', display_name: 'Ada', email: 'ada@twitch.example' }],
      },
    },
    identity: { subject: '1010', email: 'ada@twitch.example', name: 'Ada' },
    account: 'ada@twitch.example',
  },
  gitlab: {
    authorize: 'https://git.example.com/oauth/authorize',
    parameters: { scope: 'read_user' },
    pkce: true,
    token: 'git.example.com/oauth/token',
    authentication: 'body',
    answers: {
      'GET git.example.com/api/v4/user': {
        id: 1011,
        username: 'ada',
        name: 'Ada',
        email: 'ada@gitlab.example',
        confirmed_at: '2026-01-01T00:00:00Z',
      },
    },
    identity: { subject: '1011', email: 'ada@gitlab.example', name: 'Ada' },
    account: 'ada@gitlab.example',
  },
  bitbucket: {
    authorize: 'https://bitbucket.org/site/oauth2/authorize',
    parameters: { scope: 'account email' },
    pkce: false,
    token: 'bitbucket.org/site/oauth2/access_token',
    authentication: 'body',
    answers: {
      'GET api.bitbucket.org/2.0/user': { uuid: '{1012}', display_name: 'Ada', nickname: 'ada' },
      'GET api.bitbucket.org/2.0/user/emails': {
        values: [
          { email: 'new@bitbucket.example', is_primary: true, is_confirmed: false },
          { email: 'ada@bitbucket.example', is_primary: false, is_confirmed: true },
        ],
      },
    },
    identity: { subject: '{1012}', email: 'ada@bitbucket.example', name: 'Ada' },
    account: 'ada@bitbucket.example',
  },
  slack: {
    authorize: 'https://slack.com/openid/connect/authorize',
    parameters: { scope: 'openid profile email' },
    pkce: false,
    token: 'slack.com/api/openid.connect.token',
    authentication: 'body',
    tokenResponse: () => ({ ...bearer, ok: true, token_type: 'Bearer' }),
    answers: {
      'GET slack.com/api/openid.connect.userInfo': {
        ok: true,
        sub: 'U1013',
        name: 'Ada',
        email: 'ada@slack.example',
        email_verified: true,
      },
    },
    identity: { subject: 'U1013', email: 'ada@slack.example', name: 'Ada' },
    account: 'ada@slack.example',
  },
  zoom: {
    authorize: 'https://zoom.us/oauth/authorize',
    parameters: { scope: 'user:read:email' },
    pkce: true,
    token: 'zoom.us/oauth/token',
    authentication: 'basic',
    answers: {
      'GET api.zoom.us/v2/users/me': {
        id: '1014',
        first_name: 'Ada',
        last_name: 'L',
        email: 'ada@zoom.example',
        verified: 1,
      },
    },
    identity: { subject: '1014', email: 'ada@zoom.example', name: 'Ada L' },
    account: 'ada@zoom.example',
  },
  notion: {
    authorize: 'https://api.notion.com/v1/oauth/authorize',
    parameters: { owner: 'user' },
    pkce: false,
    token: 'api.notion.com/v1/oauth/token',
    authentication: 'basic',
    isJson: true,
    tokenResponse: () => ({
      access_token: 'an access token',
      token_type: 'bearer',
      refresh_token: null,
      owner: {
        type: 'user',
        user: { id: '1015', name: 'Ada', person: { email: 'ada@notion.example' } },
      },
    }),
    answers: {},
    identity: { subject: '1015', email: 'ada@notion.example', name: 'Ada' },
    account: '',
  },
  figma: {
    authorize: 'https://www.figma.com/oauth',
    parameters: { scope: 'file_read' },
    pkce: true,
    token: 'api.figma.com/v1/oauth/token',
    authentication: 'body',
    tokenResponse: () => ({ access_token: 'an access token', expires_in: 7_776_000 }),
    answers: { 'GET api.figma.com/v1/me': { id: '1016', handle: 'Ada', email: 'ada@figma.example' } },
    identity: { subject: '1016', email: 'ada@figma.example', name: 'Ada' },
    account: '',
  },
}

function prepare(name: keyof typeof cases): Case {
  const expected = cases[name]
  Object.assign(standIn.answers, expected.answers)
  standIn.answers[`POST ${expected.token}`] = expected.tokenResponse ?? bearer
  standIn.answers['GET www.googleapis.com/oauth2/v3/certs'] = standIn.keys
  standIn.answers['GET appleid.apple.com/auth/keys'] = standIn.keys
  return expected
}

async function signIn(name: keyof typeof cases, browser = new Browser()): Promise<Response> {
  const url = await browser.start(accounts.app, name)
  nonce = url.searchParams.get('nonce') ?? undefined
  const callback = `${accounts.app.url}/api/auth/oauth/${name}/callback`
  const answer = new URLSearchParams({ code: 'a code', state: url.searchParams.get('state') ?? '' })
  if (cases[name].parameters.response_mode !== 'form_post') return await browser.open(`${callback}?${answer}`)
  answer.set('user', JSON.stringify({ name: { firstName: 'Ada', lastName: 'Lovelace' } }))
  // The browser posts from another site, so it sends no Lax cookies.
  browser.cookies.delete('basalt_sign_in')
  return await browser.open(callback, { method: 'POST', body: answer })
}

describe.each(Object.keys(cases) as (keyof typeof cases)[])('social login › %s', (name) => {
  test('requests consent as the provider documents', async () => {
    const expected = prepare(name)
    const url = await new Browser().start(accounts.app, name)
    expect(url.origin + url.pathname).toBe(expected.authorize)
    const query = Object.fromEntries(url.searchParams)
    expect(query).toMatchObject({
      client_id: `client-of-${name}`,
      response_type: 'code',
      redirect_uri: `${accounts.app.url}/api/auth/oauth/${name}/callback`,
      state: expect.stringMatching(/^[\w-]{43}$/),
      ...expected.parameters,
    })
    expect(query.code_challenge_method).toBe(expected.pkce ? 'S256' : undefined)
    expect(query.scope).toBe(expected.parameters.scope)
  })

  test('redeems the code, reads the profile, stores the tokens and creates the account', async () => {
    const expected = prepare(name)
    const response = await signIn(name)
    const body = await jsonOf(response)
    expect([response.status, body.user?.email]).toEqual([200, expected.account])
    const redemption = standIn.requests.find(({ address }) => address === expected.token)
    const form = expected.isJson
      ? JSON.parse(redemption?.body ?? '')
      : Object.fromEntries(new URLSearchParams(redemption?.body))
    expect(form).toMatchObject({
      grant_type: 'authorization_code',
      code: 'a code',
      redirect_uri: `${accounts.app.url}/api/auth/oauth/${name}/callback`,
    })
    expect(typeof form.code_verifier).toBe(expected.pkce ? 'string' : 'undefined')
    const basic = Buffer.from(`client-of-${name}:secret-of-${name}`).toString('base64')
    if (expected.authentication === 'basic') {
      expect(
        decodeURIComponent(
          Buffer.from(redemption?.headers.authorization?.slice(6) ?? '', 'base64').toString(),
        ),
      ).toBe(Buffer.from(basic, 'base64').toString())
    } else if (name === 'apple') {
      expect(isAppleSecret(form.client_secret)).toBe(true)
    } else {
      expect(form).toMatchObject({ client_id: `client-of-${name}`, client_secret: `secret-of-${name}` })
    }
    const token = await accounts.app.adminToken()
    const path = `/api/admin/users/${body.user.id}/provider-tokens`
    const [stored] = (await accounts.app.request('GET', path, { token })).json
    expect(stored).toMatchObject({ provider: name, accessToken: 'an access token' })
    const [row] = await accounts.app.sql(
      'select subject, email, name, tokens from basalt.social_identities where user_id = $1',
      [body.user.id],
    )
    expect(row).toMatchObject(expected.identity)
    expect(row?.tokens).not.toContain('an access token')
    const identities = await accounts.app.request('GET', '/api/auth/identities', { token: body.token })
    expect(identities.json).toEqual([
      expect.objectContaining({ provider: name, proven: true, ...expected.identity }),
    ])
  })

  test.each([
    ['500', { status: 500, text: 'oops' }],
    ['HTML', { status: 200, text: '<html></html>' }],
    ['an error with status 200', { error: 'bad_verification_code' }],
    ['a huge body', { access_token: 'x'.repeat(300_000) }],
  ])('returns 502 when the token endpoint responds with %s', async (_, answer) => {
    const expected = prepare(name)
    standIn.answers[`POST ${expected.token}`] = answer
    const response = await signIn(name)
    expect([response.status, (await jsonOf(response)).error]).toEqual([502, 'provider_failed'])
  })

  test('returns 502 when the profile cannot be read', async () => {
    const expected = prepare(name)
    for (const path of Object.keys(expected.answers)) standIn.answers[path] = { status: 503, text: 'later' }
    if (Object.keys(expected.answers).length === 0) standIn.answers[`POST ${expected.token}`] = bearer
    const response = await signIn(name)
    expect([response.status, (await jsonOf(response)).error]).toEqual([502, 'provider_failed'])
  })
})

function isAppleSecret(secret: string): boolean {
  const [header = '', payload = '', signature = ''] = secret.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({ alg: 'ES256', kid: 'KEY' })
  expect(claims).toMatchObject({ iss: 'TEAM', sub: 'client-of-apple', aud: 'https://appleid.apple.com' })
  return verify(
    'sha256',
    Buffer.from(`${header}.${payload}`),
    { key: appleKeys.publicKey, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  )
}

describe('social login › verified addresses', () => {
  test('microsoft: accepts an address with xms_edov', async () => {
    prepare('microsoft')
    standIn.answers['POST login.microsoftonline.com/organizations/oauth2/v2.0/token'] = {
      ...bearer,
      id_token: standIn.signIdToken({
        aud: 'client-of-microsoft',
        email: 'owner@contoso.example',
        xms_edov: true,
      }),
    }
    standIn.answers['GET graph.microsoft.com/v1.0/me'] = { id: 'oid-owner', mail: 'victim@contoso.example' }
    expect((await jsonOf(signIn('microsoft'))).user).toMatchObject({
      email: 'owner@contoso.example',
      emailVerified: true,
    })
  })

  test('github: accepts only a primary and verified address', async () => {
    prepare('github')
    standIn.answers['GET api.github.com/user'] = { id: 2002, login: 'eve', email: 'victim@github.example' }
    standIn.answers['GET api.github.com/user/emails'] = [
      { email: 'victim@github.example', primary: true, verified: false },
    ]
    expect((await jsonOf(signIn('github'))).user.email).toBe('')
  })

  test.each([
    ['google', 'GET www.googleapis.com/oauth2/v2/userinfo', { verified_email: false, id: '2001' }],
    ['discord', 'GET discord.com/api/users/@me', { verified: false, id: '2005' }],
    ['gitlab', 'GET git.example.com/api/v4/user', { confirmed_at: null, id: 2011 }],
    ['slack', 'GET slack.com/api/openid.connect.userInfo', { email_verified: false, sub: 'U2013' }],
    ['zoom', 'GET api.zoom.us/v2/users/me', { verified: 0, id: '2014' }],
    ['linkedin', 'GET api.linkedin.com/v2/userinfo', { email_verified: false, sub: '2008' }],
  ] as const)("%s: accepts no address without the provider's statement", async (name, path, change) => {
    prepare(name)
    standIn.answers[path] = { ...standIn.answers[path], ...change, email: `victim@${name}.example` }
    expect((await jsonOf(signIn(name))).user.email).toBe('')
  })
})
