import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { countStatuses } from '../../../../../test/account-nodes.ts'
import { startCaptchaProvider } from '../../../../../test/captcha-provider.ts'
import { createTestApp, envelope, type TestApp, type TestResponse } from '../../../../../test/test-app.ts'

const methods = {
  'auth.magic_link_enabled': 'true',
  'auth.sms_enabled': 'true',
  'auth.anonymous_auth_enabled': 'true',
}
const proof = {
  ...methods,
  'auth.captcha.provider': 'proof_of_work',
  'auth.captcha.difficulty': '1000',
}

let users = 0
const credentials = () => {
  users += 1
  return { email: `captcha-${users}@example.com`, password: 'correct horse battery' }
}

/** Requests of the routes that a captcha can guard. */
const guarded: Readonly<
  Record<string, { readonly path: string; readonly body: () => object; readonly status: number }>
> = {
  register: { path: '/api/auth/register', body: credentials, status: 201 },
  sms: { path: '/api/auth/sms', body: () => ({ phone: '+14155550132' }), status: 200 },
  magic_link: { path: '/api/auth/magic-link', body: () => ({ email: 'a@example.com' }), status: 200 },
  password_reset: { path: '/api/auth/password-reset', body: () => ({ email: 'a@example.com' }), status: 200 },
  anonymous: { path: '/api/auth/anonymous', body: () => ({}), status: 201 },
}

function post(app: TestApp, route: string, response?: string): Promise<TestResponse> {
  const { path = '', body = () => ({}) } = guarded[route] ?? {}
  const headers = response === undefined ? {} : { 'x-captcha-response': response }
  return app.request('POST', path, { body: body(), headers })
}

const failed = {
  code: 403,
  message: 'X-Captcha-Response: the captcha is wrong, has expired, was used, or is for another route',
  error: 'captcha_failed',
}

interface Challenge {
  readonly algorithm: string
  readonly challenge: string
  readonly maxnumber: number
  readonly salt: string
  readonly signature: string
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
const encode = (solution: object) => Buffer.from(JSON.stringify(solution)).toString('base64')

async function challengeOf(app: TestApp, route: string): Promise<Challenge> {
  return (await app.request('GET', `/api/auth/captcha?route=${route}`)).json
}

function solve({
  salt,
  challenge,
  maxnumber,
  ...rest
}: Challenge): { readonly number: number } & Omit<Challenge, 'maxnumber'> {
  for (let number = 0; number <= maxnumber; number += 1) {
    if (hashOf(`${salt}${number}`) === challenge) return { ...rest, salt, challenge, number }
  }
  throw new Error('unsolvable')
}

describe('auth.captcha by proof of work', () => {
  let first: TestApp
  let second: TestApp
  let now = new Date('2026-01-02T03:04:05Z')
  const clock = { now: () => now }

  beforeAll(async () => {
    first = await createTestApp({ config: proof, clock })
    second = await createTestApp({ config: proof, clock, database: first.database })
  })
  afterAll(async () => {
    await second[Symbol.asyncDispose]()
    await first[Symbol.asyncDispose]()
  })

  test.each(Object.entries(guarded))('%s requires it and accepts a solution', async (route, { status }) => {
    const refused = await post(first, route)
    expect(envelope(refused)).toEqual({
      code: 403,
      message: 'a captcha is required: send its response in X-Captcha-Response',
      error: 'captcha_required',
      data: { route, provider: 'proof_of_work' },
    })
    const challenge = await first.request('GET', `/api/auth/captcha?route=${route}`)
    expect(challenge.headers.get('cache-control')).toBe('no-store')
    expect(challenge.json).toEqual({
      provider: 'proof_of_work',
      route,
      algorithm: 'SHA-256',
      challenge: expect.stringMatching(/^[0-9a-f]{64}$/),
      maxnumber: 1000,
      salt: expect.stringMatching(new RegExp(`^[0-9a-f]{32}\\?expires=\\d+&route=${route}&$`)),
      signature: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect((await post(first, route, encode(solve(challenge.json)))).status).toBe(status)
  })

  test('counts one of ten concurrent uses on two nodes', async () => {
    const response = encode(solve(await challengeOf(first, 'anonymous')))
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) => post(index % 2 === 0 ? first : second, 'anonymous', response)),
    )
    expect(countStatuses(responses)).toEqual({ 201: 1, 403: 9 })
    expect(envelope(await post(second, 'anonymous', response))).toEqual(failed)
  })

  test('rejects a solution of another route', async () => {
    const response = encode(solve(await challengeOf(first, 'sms')))
    expect(envelope(await post(first, 'register', response))).toEqual(failed)
    expect((await post(first, 'sms', response)).status).toBe(200)
  })

  test('rejects an expired solution', async () => {
    const response = encode(solve(await challengeOf(first, 'anonymous')))
    const issued = now
    now = new Date(issued.getTime() + 300_000)
    expect(envelope(await post(first, 'anonymous', response))).toEqual(failed)
    now = new Date(issued.getTime() + 299_000)
    expect((await post(first, 'anonymous', response)).status).toBe(201)
    now = issued
  })

  test('rejects precomputed, forged and malformed solutions', async () => {
    const genuine = solve(await challengeOf(first, 'anonymous'))
    const { salt, number } = genuine
    const own = `${'0'.repeat(32)}?expires=99999999999&route=anonymous&`
    const forgeries = [
      { ...genuine, salt: own, challenge: hashOf(`${own}1`), number: 1 },
      { ...genuine, salt: salt.replace('anonymous', 'register') },
      { ...genuine, salt: salt.replace(/expires=\d+/, 'expires=99999999999') },
      // Digits that move from the number to the salt.
      {
        ...genuine,
        salt: `${salt}${String(number).slice(0, 1)}`,
        number: Number(String(number).slice(1) || '0'),
      },
      { ...genuine, number: number + 1 },
      { ...genuine, number: String(number) },
      { ...genuine, number: -1 },
      { ...genuine, signature: '0'.repeat(64) },
      { ...genuine, signature: '' },
      { ...genuine, algorithm: 'SHA-1' },
      {},
      [],
    ]
    for (const forgery of forgeries) {
      expect(envelope(await post(first, 'anonymous', encode(forgery)))).toEqual(failed)
    }
    for (const text of ['x', encode(genuine).slice(5), Buffer.from('null').toString('base64')]) {
      expect(envelope(await post(first, 'anonymous', text))).toEqual(failed)
    }
    expect((await post(first, 'anonymous', encode(genuine))).status).toBe(201)
  })

  test('rejects an unknown route', async () => {
    const response = await first.request('GET', '/api/auth/captcha?route=login')
    expect([response.status, response.json.error]).toEqual([400, 'invalid_request'])
  })

  test('guards the configured routes only', async () => {
    await using app = await createTestApp({
      config: { ...proof, 'auth.captcha.routes': 'sms' },
      database: first.database,
    })
    expect((await post(app, 'register')).status).toBe(201)
    expect((await post(app, 'sms')).status).toBe(403)
    expect((await app.request('GET', '/api/auth/captcha?route=register')).json).toEqual({
      provider: 'off',
      route: 'register',
    })
  })

  test('is off by default', async () => {
    await using app = await createTestApp({ config: methods, database: first.database })
    for (const [route, { status }] of Object.entries(guarded)) {
      expect((await post(app, route)).status).toBe(status)
    }
  })
})

describe('auth.captcha by a provider', () => {
  let provider: Awaited<ReturnType<typeof startCaptchaProvider>>
  let turnstile: TestApp
  let hcaptcha: TestApp
  let friendly: TestApp
  let lenient: TestApp

  beforeAll(async () => {
    provider = await startCaptchaProvider()
    const config = (name: string) => ({
      ...methods,
      'auth.captcha.provider': name,
      'auth.captcha.site_key': 'site-1',
      'auth.captcha.secret': 'hidden-secret',
      'auth.captcha.hostnames': 'app.example.com',
      'auth.captcha.verify_url': provider.url,
    })
    turnstile = await createTestApp({ config: config('turnstile') })
    const { database } = turnstile
    hcaptcha = await createTestApp({ config: config('hcaptcha'), database })
    friendly = await createTestApp({ config: config('friendly_captcha'), database })
    lenient = await createTestApp({
      config: { ...config('turnstile'), 'auth.captcha.on_failure': 'accept' },
      database,
    })
  })
  afterAll(async () => {
    for (const app of [lenient, friendly, hcaptcha, turnstile]) await app[Symbol.asyncDispose]()
    await provider[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    provider.verifications.length = 0
    await turnstile.sql('delete from basalt.attempts')
  })

  const passed = { success: true, hostname: 'app.example.com', action: 'anonymous', 'error-codes': [] }

  test('names the provider and its public key, and no secret', async () => {
    const response = await turnstile.request('GET', '/api/auth/captcha?route=sms')
    expect(response.json).toEqual({ provider: 'turnstile', route: 'sms', siteKey: 'site-1' })
    expect(envelope(await post(turnstile, 'sms'))).toMatchObject({
      error: 'captcha_required',
      data: { route: 'sms', provider: 'turnstile' },
    })
    expect(provider.verifications).toEqual([])
  })

  test('verifies tokens of Turnstile', async () => {
    provider.respond(200, passed)
    expect((await post(turnstile, 'anonymous', 'token-1')).status).toBe(201)
    expect(provider.verifications.map(({ body }) => body)).toEqual(['secret=hidden-secret&response=token-1'])
  })

  test('verifies tokens of hCaptcha, which have no action', async () => {
    provider.respond(200, { success: true, hostname: 'app.example.com' })
    expect((await post(hcaptcha, 'anonymous', 'token-2')).status).toBe(201)
    expect(provider.verifications.map(({ body }) => body)).toEqual([
      'secret=hidden-secret&response=token-2&sitekey=site-1',
    ])
    provider.respond(200, { success: false, 'error-codes': ['already-seen-response'] })
    expect(envelope(await post(hcaptcha, 'anonymous', 'token-2'))).toEqual(failed)
  })

  test('verifies tokens of Friendly Captcha', async () => {
    const origin = 'https://app.example.com'
    provider.respond(200, {
      success: true,
      data: { challenge: { timestamp: '2026-01-01T00:00:00Z', origin } },
    })
    expect((await post(friendly, 'anonymous', 'token-3')).status).toBe(201)
    const [sent] = provider.verifications
    expect([sent?.headers['x-api-key'], JSON.parse(sent?.body ?? '')]).toEqual([
      'hidden-secret',
      { response: 'token-3', sitekey: 'site-1' },
    ])
    provider.respond(200, { success: false, error: { error_code: 'response_duplicate', detail: '' } })
    expect(envelope(await post(friendly, 'anonymous', 'token-3'))).toEqual(failed)
    provider.respond(401, { success: false, error: { error_code: 'auth_invalid', detail: '' } })
    expect((await post(friendly, 'anonymous', 'token-3')).json.error).toBe('captcha_unavailable')
  })

  test.each([
    ['a used token', { success: false, 'error-codes': ['timeout-or-duplicate'] }],
    ['an invented token', { success: false, 'error-codes': ['invalid-input-response'] }],
    ['a token of another host', { ...passed, hostname: 'evil.example.com' }],
    ['a token without a host', { success: true, action: 'anonymous' }],
    ['a token of another route', { ...passed, action: 'register' }],
    ['a token without an action', { success: true, hostname: 'app.example.com' }],
    ['a token that the provider cannot read', { success: false, 'error-codes': ['bad-request'] }],
    ['a refusal without a code', { success: false }],
  ])('rejects %s, also where failures are accepted', async (_case, reply) => {
    provider.respond(200, reply)
    for (const app of [turnstile, lenient]) {
      expect(envelope(await post(app, 'anonymous', 'token'))).toEqual(failed)
    }
  })

  test.each([
    ['fails', () => provider.respondText(500, 'oops')],
    [
      'rejects our secret',
      () => provider.respond(200, { success: false, 'error-codes': ['invalid-input-secret'] }),
    ],
    ['does not send JSON', () => provider.respondText(200, '<html>')],
    ['does not respond', () => provider.fallSilent()],
  ])(
    'refuses or accepts as configured when the provider %s, and logs it',
    async (_case, arrange) => {
      arrange()
      const refused = await post(turnstile, 'anonymous', 'token-secret')
      expect(envelope(refused)).toEqual({
        code: 503,
        message: 'the captcha provider is unavailable',
        error: 'captcha_unavailable',
      })
      expect((await post(lenient, 'anonymous', 'token-secret')).status).toBe(201)
      const find = (app: TestApp) => app.log.filter((line) => line.includes('failed to verify a captcha'))
      expect(find(turnstile).at(-1)).toContain('the request is refused')
      expect(find(lenient).at(-1)).toContain('the request is accepted without it')
      for (const line of [...turnstile.log, ...lenient.log])
        expect(line).not.toMatch(/hidden-secret|token-secret/)
    },
    20_000,
  )

  test('is verified at most 30 times a minute for an address', async () => {
    provider.respond(200, { success: false, 'error-codes': ['timeout-or-duplicate'] })
    for (let count = 0; count < 30; count += 1)
      expect((await post(turnstile, 'anonymous', 'token')).status).toBe(403)
    const refused = await post(turnstile, 'anonymous', 'token')
    expect([refused.status, refused.json.error, refused.headers.has('retry-after')]).toEqual([
      429,
      'too_many_requests',
      true,
    ])
    expect(provider.verifications).toHaveLength(30)
  })
})
