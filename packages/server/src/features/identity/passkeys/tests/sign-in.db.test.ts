import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AccountsApp, claimsOf, goodPassword, newEmail } from '../../../../../test/accounts.ts'
import { generateKeys } from '../../../../../test/authenticator.ts'
import {
  createPasskeysApp,
  enroll,
  newAuthenticator,
  type PasskeyUser,
  passkeyUser,
  passSecondFactor,
  publicOrigin,
  signInByEmail,
  signInDiscoverably,
} from '../../../../../test/passkeys.ts'
import { aal2Session, totpUser } from '../../../../../test/second-factors.ts'
import { createTestApp, envelope } from '../../../../../test/test-app.ts'

let accounts: AccountsApp
let user: PasskeyUser
beforeAll(async () => {
  accounts = await createPasskeysApp()
  user = await passkeyUser(accounts)
})
beforeEach(() => accounts.app.sql('delete from basalt.attempts'))
afterAll(() => accounts[Symbol.asyncDispose]())

const wrong = { code: 401, message: 'invalid email or passkey', error: 'invalid_passkey' }
const uuid = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
const begin = (email: unknown) => accounts.post('webauthn/login/begin', { email })
const discover = () => accounts.post('webauthn/login/discover/begin')
const finish = (body: unknown) => accounts.post('webauthn/login/finish', body)
const finishDiscovery = (body: unknown) => accounts.post('webauthn/login/discover/finish', body)

interface Descriptor {
  readonly id: string
}
const idsOf = ({ json }: Awaited<ReturnType<typeof begin>>): string[] =>
  json.options.allowCredentials.map(({ id }: Descriptor) => id)

describe('POST /api/auth/webauthn/login/begin', () => {
  test('requests the passkeys of the account', async () => {
    const transports = ['hybrid', 'internal']
    const who = await passkeyUser(accounts, newAuthenticator({ transports }))
    const { json: session } = await signInByEmail(accounts, who.user.email, who.authenticator)
    const second = newAuthenticator()
    expect((await enroll(accounts, session.token, second)).status).toBe(200)
    const response = await begin(who.user.email)
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.json).toEqual({
      challenge_id: uuid,
      options: {
        rpId: 'app.example.com',
        challenge: expect.stringMatching(/^[\w-]{43}$/),
        timeout: 300_000,
        userVerification: 'required',
        allowCredentials: [
          { type: 'public-key', id: who.credentialId, transports },
          { type: 'public-key', id: second.passkeys[0]?.id.toString('base64url') },
        ],
      },
    })
    const again = await begin(`  ${who.user.email.toUpperCase()} `)
    expect(idsOf(again)).toEqual(idsOf(response))
    expect(again.json.options.challenge).not.toBe(response.json.options.challenge)
  })

  test('starts an aal1 session by the passkey', async () => {
    const response = await signInByEmail(accounts, user.user.email, user.authenticator)
    const claims = claimsOf(response.json.token)
    expect(claims).toMatchObject({ sub: user.user.id, aal: 'aal1', amr: ['webauthn'], is_anonymous: false })
    const refreshed = await accounts.post('refresh', { refreshToken: response.json.refreshToken })
    expect(claimsOf(refreshed.json.token)).toMatchObject({ sid: claims.sid, aal: 'aal1', amr: ['webauthn'] })
  })

  test.each([
    [{}, 'email is required'],
    [{ email: '' }, 'email is required'],
    [{ email: ' ' }, 'email is required'],
    [{ email: 'ada' }, 'invalid email format'],
    [{ email: 'a\0b@example.com' }, 'invalid email format'],
    [{ email: 7 }, 'email: must be string'],
    [{ email: `${'x'.repeat(320)}@example.com` }, 'email: must not have more than 320 characters'],
    [[], 'body must be object'],
  ])('%o returns 400 %s', async (body, message) => {
    expect(await accounts.post('webauthn/login/begin', body)).toMatchObject({
      status: 400,
      json: { message },
    })
  })

  test('requires no other enrolled factor, and grants nothing that needs one', async () => {
    const totp = await totpUser(accounts)
    const session = await aal2Session(accounts, totp)
    const authenticator = newAuthenticator()
    expect((await enroll(accounts, session.token, authenticator)).status).toBe(200)
    const response = await signInByEmail(accounts, totp.user.email, authenticator)
    expect(response.status).toBe(200)
    const { token } = response.json
    expect(claimsOf(token)).toMatchObject({ aal: 'aal1', amr: ['webauthn'] })
    for (const [method, path] of [
      ['POST', 'backup/generate'],
      ['DELETE', `factors/${totp.factorId}`],
    ] as const) {
      const refused = await accounts.app.request(method, `/api/auth/mfa/${path}`, { token })
      expect(envelope(refused).error).toBe('insufficient_aal')
    }
    expect(envelope(await accounts.post('mfa/email/enroll', undefined, token)).error).toBe('insufficient_aal')
  })
})

describe('POST /api/auth/webauthn/login/begin › an address without passkeys', () => {
  const cases: readonly [string, () => Promise<string>][] = [
    ['of no account', async () => newEmail()],
    ['of a user without', async () => (await accounts.register()).user.email],
    [
      'of a user whose passkey does not verify its user',
      async () => (await passkeyUser(accounts, newAuthenticator({ verifiesUser: false }))).user.email,
    ],
  ]

  test.each(cases)('%s gets a response of the same form, the same each time', async (_name, make) => {
    const email = await make()
    const response = await begin(email)
    expect([response.status, response.json]).toEqual([
      200,
      {
        challenge_id: uuid,
        options: {
          rpId: 'app.example.com',
          challenge: expect.stringMatching(/^[\w-]{43}$/),
          timeout: 300_000,
          userVerification: 'required',
          allowCredentials: expect.any(Array),
        },
      },
    ])
    for (const descriptor of response.json.options.allowCredentials) {
      expect(descriptor).toEqual({
        type: 'public-key',
        id: expect.stringMatching(/^[\w-]{22,43}$/),
        ...('transports' in descriptor ? { transports: expect.any(Array) } : {}),
      })
    }
    const real = await begin(user.user.email)
    const names = (headers: Headers) => [...headers.keys()].toSorted()
    expect(names(response.headers)).toEqual(names(real.headers))
    const again = await begin(email.toUpperCase())
    expect(idsOf(again)).toEqual(idsOf(response))
    expect(again.json.challenge_id).not.toBe(response.json.challenge_id)
    expect(idsOf(await begin(newEmail()))).not.toEqual(idsOf(response))
  })

  test('gets the same response from every node, before and after its registration', async () => {
    await using other = await accounts.secondNode()
    const email = newEmail()
    const here = idsOf(await begin(email))
    const there = await other.request('POST', '/api/auth/webauthn/login/begin', { body: { email } })
    expect(idsOf(there)).toEqual(here)
    await accounts.register(email)
    expect(idsOf(await begin(email))).toEqual(here)
  })

  test('is indistinguishable from one with passkeys', async () => {
    const [passkey = expect.fail()] = user.authenticator.passkeys
    const attempts = async (email: string) => {
      const { challenge_id, options } = (await begin(email)).json
      const id = Buffer.from(options.allowCredentials[0].id, 'base64url')
      const forged = newAuthenticator().get(options, {
        passkey: { ...passkey, id },
        signedBy: generateKeys('ES256').privateKey,
      })
      const mine = newAuthenticator().get(options, { passkey: { ...passkey, id: Buffer.from('mine') } })
      const responses = [
        await finish({ challenge_id, assertion_response: forged }),
        await finish({ challenge_id, assertion_response: mine }),
        await finish({ challenge_id, assertion_response: { ...forged, response: {} } }),
        await finishDiscovery({ challenge_id, assertion_response: forged }),
      ]
      return responses.map(envelope)
    }
    const real = await attempts(user.user.email)
    const malformed = {
      code: 400,
      message: 'invalid assertion response',
      error: 'invalid_assertion_response',
    }
    expect(real).toEqual([wrong, wrong, malformed, wrong])
    expect(await attempts(newEmail())).toEqual(real)
  })

  test('leaves a row that reveals nothing either', async () => {
    const rowOf = async (email: string) => {
      const { challenge_id } = (await begin(email)).json
      const [row] = await accounts.app.sql(
        `select user_id, method, purpose, code_hash, phone, attempts, used_at, length(challenge) as length,
           credential_ids is not null as has_ids, expires_at - created_at as lifetime
         from basalt.mfa_challenges where id = $1`,
        [challenge_id],
      )
      return row
    }
    const real = await rowOf(user.user.email)
    expect(real).toMatchObject({ user_id: null, purpose: 'sign_in', length: 43, has_ids: true })
    expect(await rowOf(newEmail())).toEqual(real)
  })
})

describe('POST /api/auth/webauthn/login/discover/begin', () => {
  test('requests any passkey of the site', async () => {
    const response = await discover()
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect([response.status, response.json]).toEqual([
      200,
      {
        challenge_id: uuid,
        options: {
          rpId: 'app.example.com',
          challenge: expect.stringMatching(/^[\w-]{43}$/),
          timeout: 300_000,
          userVerification: 'required',
        },
      },
    ])
    // The requests are those of `fetch` without a body, and with an irrelevant one.
    const path = '/api/auth/webauthn/login/discover/begin'
    const headers = { 'content-type': 'application/json' }
    expect((await accounts.app.request('POST', path, { headers })).status).toBe(200)
    expect((await accounts.app.request('POST', path, { body: { email: 'x' } })).status).toBe(200)
  })

  test('starts a session of the user that the passkey names', async () => {
    const stranger = await passkeyUser(accounts)
    for (const who of [user, stranger]) {
      const { json } = await signInDiscoverably(accounts, who.authenticator)
      expect(json.user.id).toBe(who.user.id)
      expect(claimsOf(json.token)).toMatchObject({ sub: who.user.id, aal: 'aal1', amr: ['webauthn'] })
    }
  })
})

describe('passkey challenge of a sign-in', () => {
  const paths = [
    ['by email', () => begin(user.user.email), finish],
    ['to discover', discover, finishDiscovery],
  ] as const

  test.each(paths)('%s works once', async (_name, start, complete) => {
    const { challenge_id, options } = (await start()).json
    const assertion_response = user.authenticator.get(options)
    expect((await complete({ challenge_id, assertion_response })).status).toBe(200)
    const used = { code: 409, message: 'challenge already verified', error: 'challenge_used' }
    expect(envelope(await complete({ challenge_id, assertion_response }))).toEqual(used)
    const another = user.authenticator.get(options)
    expect(envelope(await complete({ challenge_id, assertion_response: another }))).toEqual(used)
  })

  test.each(paths)('%s is valid for five minutes', async (_name, start, complete) => {
    const { challenge_id, options } = (await start()).json
    const rows = await accounts.app.sql(
      `update basalt.mfa_challenges set expires_at = expires_at - interval '5 min' where id = $1
       returning expires_at between now() - interval '30 s' and now() as is_due`,
      [challenge_id],
    )
    expect(rows).toEqual([{ is_due: true }])
    const assertion_response = user.authenticator.get(options)
    expect(envelope(await complete({ challenge_id, assertion_response }))).toEqual(wrong)
  })

  test.each(paths)('%s survives a wrong response', async (_name, start, complete) => {
    const { challenge_id, options } = (await start()).json
    const evil = user.authenticator.get(options, { clientData: { origin: 'https://evil.example' } })
    expect(envelope(await complete({ challenge_id, assertion_response: evil }))).toEqual(wrong)
    const assertion_response = user.authenticator.get(options)
    expect((await complete({ challenge_id, assertion_response })).status).toBe(200)
  })

  test('is worthless for another use', async () => {
    const { email } = user.user
    const { mfa_token: pending } = (await accounts.post('login', { email, password: goodPassword })).json
    const challenges = {
      email: (await begin(email)).json,
      discover: (await discover()).json,
      verify: (await accounts.post('mfa/webauthn/challenge', undefined, pending)).json,
    }
    const finishers = { email: finish, discover: finishDiscovery }
    const verify = (body: unknown) => accounts.post('mfa/webauthn/verify', body, pending)
    const body = (use: keyof typeof challenges) => ({
      challenge_id: challenges[use].challenge_id,
      assertion_response: user.authenticator.get(challenges[use].options),
    })
    expect(envelope(await finishers.email(body('discover')))).toEqual(wrong)
    expect(envelope(await finishers.email(body('verify')))).toEqual(wrong)
    expect(envelope(await finishers.discover(body('email')))).toEqual(wrong)
    expect(envelope(await finishers.discover(body('verify')))).toEqual(wrong)
    const unknown = { code: 404, message: 'challenge not found or expired', error: 'challenge_not_found' }
    expect(envelope(await verify(body('email')))).toEqual(unknown)
    expect(envelope(await verify(body('discover')))).toEqual(unknown)
    // Each challenge is still valid for its own use.
    expect((await finishers.email(body('email'))).status).toBe(200)
    expect((await finishers.discover(body('discover'))).status).toBe(200)
    expect((await verify(body('verify'))).status).toBe(200)
  })

  test('cannot be one of an enrolment', async () => {
    const { json: session } = await signInByEmail(accounts, user.user.email, user.authenticator)
    const { challenge } = (await accounts.post('mfa/webauthn/enroll', undefined, session.token)).json
    const [{ id }] = (await accounts.app.sql('select id from basalt.mfa_challenges where challenge = $1', [
      challenge,
    ])) as [{ id: string }]
    const assertion_response = user.authenticator.get({ rpId: 'app.example.com', challenge })
    for (const complete of [finish, finishDiscovery]) {
      expect(envelope(await complete({ challenge_id: id, assertion_response }))).toEqual(wrong)
    }
  })

  test.each(['nonsense', crypto.randomUUID(), '00000000-0000-0000-0000-000000000000'])(
    'gets the error of a wrong passkey if it is unknown, %s',
    async (challenge_id) => {
      const assertion_response = user.authenticator.get((await discover()).json.options)
      expect(envelope(await finish({ challenge_id, assertion_response }))).toEqual(wrong)
      expect(envelope(await finishDiscovery({ challenge_id, assertion_response }))).toEqual(wrong)
    },
  )
})

describe('POST /api/auth/webauthn/login/finish', () => {
  test.each([
    [{}, 'challenge_id is required'],
    [{ challenge_id: '', assertion_response: {} }, 'challenge_id is required'],
    [{ challenge_id: 'x' }, 'assertion_response is required'],
    [{ challenge_id: 'x', assertion_response: null }, 'assertion_response is required'],
    [{ challenge_id: 'x', assertion_response: {} }, 'invalid assertion response'],
    [{ challenge_id: 'x', assertion_response: 'x' }, 'invalid assertion response'],
    [{ challenge_id: 7, assertion_response: {} }, 'challenge_id: must be string'],
    [
      { challenge_id: 'x'.repeat(65), assertion_response: {} },
      'challenge_id: must not have more than 64 characters',
    ],
    [[], 'body must be object'],
  ])('%o returns 400 %s', async (body, message) => {
    for (const complete of [finish, finishDiscovery]) {
      expect(await complete(body)).toMatchObject({ status: 400, json: { message } })
    }
  })

  test('accepts the other names of the members, and fewer members than a browser sends', async () => {
    const { challenge_id, options } = (await begin(user.user.email)).json
    const { id, type, response } = user.authenticator.get(options)
    const { userHandle: _, ...least } = response
    const body = { challengeId: challenge_id, assertion: { id, type, response: least } }
    expect((await finish(body)).status).toBe(200)
  })

  test('documents one name of each member', async () => {
    const { components } = (await accounts.app.request('GET', '/api/openapi.json')).json
    const { PasskeyAssertion, PasskeysConfirmInput } = components.schemas
    expect(PasskeyAssertion.required).toEqual(['challenge_id', 'assertion_response'])
    expect(Object.keys(PasskeyAssertion.properties)).toEqual(PasskeyAssertion.required)
    expect(Object.keys(PasskeysConfirmInput.properties)).toEqual(['display_name', 'attestation_response'])
  })

  test('rejects a disabled user, and changes nothing', async () => {
    const who = await passkeyUser(accounts)
    const before = idsOf(await begin(who.user.email))
    const admin = await accounts.app.adminToken()
    const path = `/api/admin/users/${who.user.id}`
    expect((await accounts.app.request('POST', `${path}/disable`, { token: admin })).status).toBe(200)
    expect(idsOf(await begin(who.user.email))).toEqual(before)
    expect(envelope(await signInByEmail(accounts, who.user.email, who.authenticator))).toEqual(wrong)
    expect(envelope(await signInDiscoverably(accounts, who.authenticator))).toEqual(wrong)
    const stored = await accounts.app.sql('select sign_count from basalt.passkeys where user_id = $1', [
      who.user.id,
    ])
    expect(stored).toEqual([{ sign_count: '0' }])
    expect((await accounts.app.request('POST', `${path}/enable`, { token: admin })).status).toBe(200)
    expect((await signInByEmail(accounts, who.user.email, who.authenticator)).status).toBe(200)
  })

  test('rejects a deleted user', async () => {
    const who = await passkeyUser(accounts)
    const { challenge_id, options } = (await begin(who.user.email)).json
    const { token } = (await passSecondFactor(accounts, who.user.email, who.authenticator)).json
    expect((await accounts.app.request('DELETE', '/api/auth/me', { token })).status).toBe(204)
    const assertion_response = who.authenticator.get(options)
    expect(envelope(await finish({ challenge_id, assertion_response }))).toEqual(wrong)
    expect(await accounts.app.sql('select 1 from basalt.passkeys where user_id = $1', [who.user.id])).toEqual(
      [],
    )
  })
})

describe('passkey sign-in limits per address', () => {
  test('count failures and starts, but no successes', async () => {
    await using strict = await createTestApp({
      database: accounts.app.database,
      config: {
        'auth.webauthn_enabled': 'true',
        'auth.limits.login_failures_per_address': '3',
        'server.public_base_url': publicOrigin,
      },
    })
    const post = (path: string, body?: unknown) =>
      strict.request('POST', `/api/auth/webauthn/login/${path}`, { body })
    const limited = { code: 429, message: 'too many requests', error: 'too_many_requests' }
    const assertion = async () => {
      const { challenge_id, options } = (await begin(user.user.email)).json
      return { challenge_id, assertion_response: user.authenticator.get(options) }
    }
    for (let time = 0; time < 5; time += 1) expect((await post('finish', await assertion())).status).toBe(200)
    const good = await assertion()
    for (let time = 0; time < 3; time += 1) {
      const { challenge_id } = good
      expect((await post('finish', { challenge_id, assertion_response: {} })).status).toBe(400)
    }
    for (const path of ['finish', 'discover/finish']) {
      const refused = await post(path, good)
      expect(envelope(refused)).toEqual(limited)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    await accounts.app.sql(`update basalt.attempts set window_ends_at = now()`)
    expect((await post('finish', good)).status).toBe(200)

    for (let time = 0; time < 30; time += 1) {
      const path = time % 2 === 0 ? 'begin' : 'discover/begin'
      expect((await post(path, { email: newEmail() })).status).toBe(200)
    }
    expect(envelope(await post('begin', { email: newEmail() }))).toEqual(limited)
    expect(envelope(await post('discover/begin'))).toEqual(limited)
  })
})

test('passkeys › cannot sign in while they are disabled', async () => {
  await using off = await createTestApp()
  const disabled = { code: 404, message: 'WebAuthn MFA is not enabled', error: 'webauthn_disabled' }
  for (const path of ['begin', 'finish', 'discover/begin', 'discover/finish']) {
    const response = await off.request('POST', `/api/auth/webauthn/login/${path}`, { body: {} })
    expect(envelope(response)).toEqual(disabled)
  }
  // The operator enables passkeys while the server runs.
  const token = await off.adminToken()
  const settings = {
    magic_link_enabled: false,
    email_mfa_enabled: false,
    anonymous_auth_enabled: false,
    totp_enabled: false,
    webauthn_enabled: true,
    sms_enabled: false,
  }
  const changed = await off.request('PATCH', '/api/admin/auth-settings', { token, body: settings })
  expect(changed.status).toBe(200)
  const response = await off.request('POST', '/api/auth/webauthn/login/begin', {
    body: { email: newEmail() },
  })
  expect(response.json.options.rpId).toBe('localhost')
})

test('passkeys › are for localhost when the server has a loopback address', async () => {
  await using local = await createTestApp({
    database: accounts.app.database,
    config: { 'auth.webauthn_enabled': 'true' },
  })
  const origin = local.url.replace('127.0.0.1', 'localhost')
  const { json: signedIn } = await local.request('POST', '/api/auth/register', {
    body: { email: newEmail(), password: goodPassword },
  })
  const authenticator = newAuthenticator({ origin })
  const post = async (path: string, body?: unknown, token?: string) =>
    await local.request('POST', `/api/auth/${path}`, { body, token })
  const options = (await post('mfa/webauthn/enroll', undefined, signedIn.token)).json
  expect(options.rp).toEqual({ id: 'localhost', name: 'Basalt' })
  const attestation_response = authenticator.create(options)
  expect((await post('mfa/webauthn/enroll/confirm', { attestation_response }, signedIn.token)).status).toBe(
    200,
  )
  const request = (await post('webauthn/login/discover/begin')).json
  const assertion_response = authenticator.get(request.options)
  const { challenge_id } = request
  expect((await post('webauthn/login/discover/finish', { challenge_id, assertion_response })).status).toBe(
    200,
  )
})
