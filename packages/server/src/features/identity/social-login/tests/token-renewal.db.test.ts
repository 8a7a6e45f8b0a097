import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AccountsApp, createAccountsApp } from '../../../../../test/accounts.ts'
import {
  Browser,
  jsonOf,
  type ProviderRequest,
  type ProviderStandIn,
  startProviderStandIn,
} from '../../../../../test/social.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const tokenEndpoint = 'POST discord.com/api/oauth2/token'
let standIn: ProviderStandIn
let accounts: AccountsApp
let app: TestApp
let admin: string
let people = 0

const config = {
  'auth.oauth.discord.enabled': 'true',
  'auth.oauth.discord.client_id': 'client',
  'auth.oauth.discord.client_secret': 'secret',
  'auth.oauth.discord.store_provider_tokens': 'true',
}

beforeAll(async () => {
  standIn = await startProviderStandIn()
  accounts = await createAccountsApp({ config, reachProvider: standIn.reachProvider })
  app = accounts.app
  admin = await app.adminToken()
  // No other jobs run in these tests.
  await app.sql(`update basalt.schedules set enabled = false, next_run_at = null`)
})
afterAll(async () => {
  await accounts[Symbol.asyncDispose]()
  await standIn[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await app.sql('delete from basalt.social_identities')
  standIn.answers[tokenEndpoint] = {
    token_type: 'Bearer',
    access_token: 'first',
    refresh_token: 'r1',
    expires_in: 300,
  }
})

function newPerson(): string {
  people += 1
  return `person ${people}`
}

/** Signs a person in. @returns the id of the user */
async function signIn(person = newPerson(), on = app): Promise<string> {
  standIn.answers['GET discord.com/api/users/@me'] = { id: person, username: 'Ada' }
  const browser = new Browser()
  const url = await browser.start(on, 'discord')
  const query = new URLSearchParams({ code: 'a code', state: url.searchParams.get('state') ?? '' })
  const { user } = await jsonOf(browser.open(`${on.url}/api/auth/oauth/discord/callback?${query}`))
  standIn.requests.length = 0
  return user.id
}

/** Sets the response to refreshes from now on. */
function answerRefresh(answer: object | ((request: ProviderRequest) => unknown)): void {
  standIn.answers[tokenEndpoint] = answer
}

/** Runs the job the given number of times concurrently, until each one ends. */
async function renew(payload: object = {}, count = 1): Promise<void> {
  const body = { type: 'oauth_provider_tokens_refresh', payload }
  const jobs = await Promise.all(
    Array.from({ length: count }, () => app.request('POST', '/api/admin/jobs', { token: admin, body })),
  )
  for (const { status, text, json } of jobs) {
    if (status !== 201) throw new Error(text)
    await waitFor('the job', async () => {
      const job = await app.request('GET', `/api/admin/jobs/${json.id}`, { token: admin })
      return job.json.state === 'completed'
    })
  }
}

const refreshes = () => standIn.requests.filter(({ address }) => address === 'discord.com/api/oauth2/token')

async function tokensOf(userId: string) {
  const path = `/api/admin/users/${userId}/provider-tokens`
  return (await app.request('GET', path, { token: admin })).json
}

const later = { expires_in: 604_800, token_type: 'Bearer' }

describe('social login › renewal of provider tokens', () => {
  test('replaces tokens that expire soon, and keeps a refresh token without a successor', async () => {
    const id = await signIn()
    answerRefresh({ ...later, access_token: 'second' })
    await renew()
    expect(Object.fromEntries(new URLSearchParams(refreshes()[0]?.body))).toEqual({
      grant_type: 'refresh_token',
      refresh_token: 'r1',
      client_id: 'client',
      client_secret: 'secret',
    })
    const renewed = {
      provider: 'discord',
      subject: expect.any(String),
      accessToken: 'second',
      refreshToken: 'r1',
      expiresAt: expect.stringMatching(/Z$/),
      renewal: 'active',
      renewalFailedAt: null,
    }
    expect(await tokensOf(id)).toEqual([renewed])
    const [row] = await app.sql('select tokens from basalt.social_identities where user_id = $1', [id])
    expect(row?.tokens).not.toContain('second')
    // The tokens no longer expire soon, except by a longer window.
    await renew()
    expect(refreshes()).toHaveLength(1)
    answerRefresh({ ...later, access_token: 'third', refresh_token: 'r2' })
    await app.sql(`update basalt.social_identities set tokens_expire_at = now() + interval '20 min'`)
    await renew({ window_seconds: 3600 })
    expect(await tokensOf(id)).toEqual([{ ...renewed, accessToken: 'third', refreshToken: 'r2' }])
  })

  test.each([
    [-3600, 300, 300],
    [3600, 300, 300],
    [0, 1e300, 3_155_760_000],
  ])(
    'is due by the database clock: on a node that is off by %i s, with expires_in %d after %d s',
    async (offset, expires_in, expected) => {
      await using node = await createTestApp({
        config,
        database: app.database,
        reachProvider: standIn.reachProvider,
        clock: { now: () => new Date(Date.now() + offset * 1000) },
      })
      answerRefresh({ token_type: 'Bearer', access_token: 'first', refresh_token: 'r1', expires_in })
      const id = await signIn(newPerson(), node)
      const [row] = await app.sql(
        `select extract(epoch from make_interval(secs => $2::float8) - (tokens_expire_at - now())) between 0 and 120
          as is_right
        from basalt.social_identities where user_id = $1`,
        [id, expected],
      )
      expect(row).toEqual({ is_right: true })
    },
  )

  test('happens once for each identity, however many nodes and jobs there are', async () => {
    for (let index = 0; index < 20; index += 1) {
      answerRefresh({
        token_type: 'Bearer',
        access_token: 'first',
        refresh_token: `r of ${index}`,
        expires_in: 300,
      })
      await signIn()
    }
    await using _node = await accounts.secondNode()
    answerRefresh(({ body }: ProviderRequest) => ({
      ...later,
      access_token: 'second',
      refresh_token: `next ${new URLSearchParams(body).get('refresh_token')}`,
    }))
    await renew({}, 6)
    const used = refreshes().map(({ body }) => new URLSearchParams(body).get('refresh_token'))
    expect(used.toSorted()).toEqual(Array.from({ length: 20 }, (_, index) => `r of ${index}`).toSorted())
    const left = await app.sql(
      `select 1 from basalt.social_identities where tokens_expire_at < now() + interval '1 day'`,
    )
    expect(left).toEqual([])
  })

  test.each(['invalid_grant', 'bad_refresh_token'])(
    'ends with %s, which the administrator sees, until the user signs in again',
    async (error) => {
      const id = await signIn('revoked')
      answerRefresh({ error })
      await renew()
      await renew()
      expect(refreshes()).toHaveLength(1)
      expect(await tokensOf(id)).toEqual([
        expect.objectContaining({
          accessToken: 'first',
          renewal: 'revoked',
          renewalFailedAt: expect.stringMatching(/Z$/),
        }),
      ])
      answerRefresh({ ...later, access_token: 'new', refresh_token: 'r9' })
      await signIn('revoked')
      expect(await tokensOf(id)).toEqual([
        expect.objectContaining({ accessToken: 'new', renewal: 'active', renewalFailedAt: null }),
      ])
    },
  )

  test.each([
    ['an error of the server', { status: 503, text: 'later' }],
    ['HTML', { status: 200, text: '<html></html>' }],
    ['a client that is not known any longer', { error: 'invalid_client' }],
  ])('retries after %s, with a pause that doubles', async (_what, answer) => {
    const id = await signIn()
    answerRefresh(answer)
    for (const failures of [1, 2, 3]) {
      await renew()
      // The pause has not ended yet.
      await renew()
      expect(refreshes()).toHaveLength(failures)
      const [row] = await app.sql<{ failures: number; pause: number }>(`
        select renewal_failures as failures,
          round(extract(epoch from renew_after - renewal_failed_at))::int as pause
        from basalt.social_identities`)
      expect(row).toEqual({ failures, pause: 60 * 2 ** (failures - 1) })
      await app.sql('update basalt.social_identities set renew_after = now()')
    }
    expect(await tokensOf(id)).toEqual([
      expect.objectContaining({ accessToken: 'first', renewal: 'failing' }),
    ])
    expect(app.log.join()).toContain('failed to renew tokens of a provider; retrying in 60 s')
    answerRefresh({ ...later, access_token: 'second' })
    await renew()
    expect(await tokensOf(id)).toEqual([
      expect.objectContaining({ accessToken: 'second', renewal: 'active', renewalFailedAt: null }),
    ])
  })

  test('does not overwrite the tokens of a sign-in in the meantime', async () => {
    const id = await signIn('quick')
    answerRefresh(async () => {
      answerRefresh({ ...later, access_token: 'of the sign-in', refresh_token: 'r5' })
      await signIn('quick')
      return { ...later, access_token: 'of the renewal' }
    })
    await renew()
    expect(await tokensOf(id)).toEqual([
      expect.objectContaining({ accessToken: 'of the sign-in', refreshToken: 'r5' }),
    ])
  })

  test('skips tokens without a refresh token, and providers that are disabled or store none', async () => {
    answerRefresh({ token_type: 'Bearer', access_token: 'first', expires_in: 300 })
    const id = await signIn()
    expect(await tokensOf(id)).toEqual([
      {
        provider: 'discord',
        subject: expect.any(String),
        accessToken: 'first',
        expiresAt: expect.any(String),
        renewal: 'none',
        renewalFailedAt: null,
      },
    ])
    answerRefresh({ token_type: 'Bearer', access_token: 'first', refresh_token: 'r1', expires_in: 300 })
    await signIn()
    const provider = '/api/admin/auth/providers/discord'
    for (const body of [{ enabled: false }, { enabled: true, store_provider_tokens: false }]) {
      await app.request('PUT', provider, { token: admin, body })
      await renew()
    }
    expect(refreshes()).toEqual([])
    await app.request('DELETE', provider, { token: admin })
  })

  test('keeps the refresh token that only the first sign-in brought', async () => {
    const id = await signIn('again')
    answerRefresh({ token_type: 'Bearer', access_token: 'later', expires_in: 300 })
    await signIn('again')
    expect(await tokensOf(id)).toEqual([
      expect.objectContaining({ accessToken: 'later', refreshToken: 'r1', renewal: 'active' }),
    ])
  })

  test('rejects a payload that is not a window', async () => {
    for (const window_seconds of [0, 1.5, 86_401, '600']) {
      const body = { type: 'oauth_provider_tokens_refresh', payload: { window_seconds } }
      const response = await app.request('POST', '/api/admin/jobs', { token: admin, body })
      expect([response.status, response.json.message]).toEqual([
        400,
        expect.stringContaining('window_seconds must be an integer from 1 to 86400'),
      ])
    }
  })
})
