import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AccountsApp, goodPassword, mailedLinkToken } from '../../../../../test/accounts.ts'
import { signWith } from '../../../../../test/authenticator.ts'
import {
  createPasskeysApp,
  enroll,
  lastReason,
  newAuthenticator,
  passkeyUser,
  passSecondFactor,
  signInByEmail,
} from '../../../../../test/passkeys.ts'
import { pendingToken, totpUser } from '../../../../../test/second-factors.ts'
import { createTestApp, envelope, userToken } from '../../../../../test/test-app.ts'

let accounts: AccountsApp
beforeAll(async () => {
  accounts = await createPasskeysApp()
})
afterAll(() => accounts[Symbol.asyncDispose]())

const begin = (token?: string) => accounts.post('mfa/webauthn/enroll', undefined, token)
const confirm = (token: string | undefined, body: unknown) =>
  accounts.post('mfa/webauthn/enroll/confirm', body, token)
const passkeysOf = (userId: string) =>
  accounts.app.sql('select * from basalt.passkeys where user_id = $1 order by created_at', [userId])
const factorsOf = (userId: string) =>
  accounts.app.sql('select method, confirmed_at from basalt.mfa_factors where user_id = $1', [userId])
const failed = {
  code: 400,
  message: 'WebAuthn enrollment verification failed',
  error: 'webauthn_enrollment_failed',
}

describe('passkey enrolment › options', () => {
  test('are valid input for a browser, for this site and this user', async () => {
    const { token, user } = await accounts.register()
    const response = await begin(token)
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.json).toEqual({
      rp: { id: 'app.example.com', name: 'Basalt' },
      user: {
        id: Buffer.from(user.id).toString('base64url'),
        name: user.email,
        displayName: user.email,
      },
      challenge: expect.stringMatching(/^[\w-]{43}$/),
      pubKeyCredParams: [
        { type: 'public-key', alg: -8 },
        { type: 'public-key', alg: -7 },
        { type: 'public-key', alg: -257 },
      ],
      timeout: 300_000,
      excludeCredentials: [],
      authenticatorSelection: {
        residentKey: 'preferred',
        requireResidentKey: false,
        userVerification: 'preferred',
      },
      attestation: 'none',
      extensions: { credProps: true },
    })
    // Nothing is confirmed yet.
    expect(await factorsOf(user.id)).toEqual([])
    const again = await begin(token)
    expect(again.json.user).toEqual(response.json.user)
    expect(again.json.challenge).not.toBe(response.json.challenge)
  })

  test('name the existing passkeys, so that the browser does not make another one on the same authenticator', async () => {
    const transports = ['hybrid', 'internal']
    const user = await passkeyUser(accounts, newAuthenticator({ transports }))
    const { json: session } = await passSecondFactor(accounts, user.user.email, user.authenticator)
    const { excludeCredentials } = (await begin(session.token)).json
    expect(excludeCredentials).toEqual([{ type: 'public-key', id: user.credentialId, transports }])
    const options = (await begin(session.token)).json
    expect(() => user.authenticator.create(options)).toThrow('InvalidStateError')
  })

  test('take neither site nor origin from the request', async () => {
    const { token } = await accounts.register()
    const headers = {
      origin: 'https://evil.example',
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      forwarded: 'host=evil.example',
    }
    const response = await accounts.app.request('POST', '/api/auth/mfa/webauthn/enroll', { token, headers })
    expect(response.json.rp.id).toBe('app.example.com')
  })
})

describe('passkey enrolment › a first passkey', () => {
  test('is stored as the authenticator made it, and becomes a second factor', async () => {
    const authenticator = newAuthenticator({
      algorithm: 'EdDSA',
      isBackupEligible: true,
      isBackedUp: true,
      transports: ['internal', 'hybrid', 'internal', 'made-up'],
    })
    const { token, user } = await accounts.register()
    const confirmed = await enroll(accounts, token, authenticator, { signCount: 7 }, '  My laptop 🔑 ')
    expect([confirmed.status, confirmed.json]).toEqual([
      200,
      { message: 'WebAuthn MFA enrollment confirmed' },
    ])
    const [passkey, ...others] = await passkeysOf(user.id)
    expect(others).toEqual([])
    expect(passkey).toEqual({
      id: expect.any(String),
      user_id: user.id,
      credential_id: authenticator.passkeys[0]?.id.toString('base64url'),
      public_key: expect.any(Buffer),
      sign_count: '7',
      transports: ['internal', 'hybrid', 'made-up'],
      display_name: 'My laptop 🔑',
      is_backup_eligible: true,
      is_backed_up: true,
      is_user_verified: true,
      aaguid: '00000000-0000-0000-0000-000000000000',
      created_at: expect.any(Date),
      last_used_at: null,
    })
    expect(await factorsOf(user.id)).toEqual([{ method: 'webauthn', confirmed_at: expect.any(Date) }])
    // The session keeps its level, and the next sign-in needs the passkey.
    expect((await accounts.app.request('GET', '/api/auth/me', { token })).status).toBe(200)
    const login = await accounts.post('login', { email: user.email, password: goodPassword })
    expect(login.json).toEqual({ mfa_pending: true, mfa_token: expect.any(String) })
  })

  test.each(['ES256', 'EdDSA', 'RS256'] as const)('may use %s', async (algorithm) => {
    const user = await passkeyUser(accounts, newAuthenticator({ algorithm }))
    expect((await signInByEmail(accounts, user.user.email, user.authenticator)).status).toBe(200)
  })

  test('may have an id of 1023 bytes', async () => {
    const { token, user } = await accounts.register()
    const authenticator = newAuthenticator()
    expect((await enroll(accounts, token, authenticator, { id: Buffer.alloc(1023, 3) })).status).toBe(200)
    expect((await signInByEmail(accounts, user.email, authenticator)).status).toBe(200)
  })

  test('is accepted under the other name of its member, and gets a default name', async () => {
    const { token, user } = await accounts.register()
    const attestation = newAuthenticator().create((await begin(token)).json)
    const { rawId: _, clientExtensionResults: __, ...least } = attestation
    expect((await confirm(token, { challenge_id: 'ignored', attestation: least })).status).toBe(200)
    expect(await passkeysOf(user.id)).toMatchObject([{ display_name: 'Passkey', transports: [] }])
  })

  test('may have a self attestation, which must be valid', async () => {
    const { token } = await accounts.register()
    const response = await enroll(accounts, token, newAuthenticator(), {
      format: 'packed',
      statement: (signed, key) =>
        new Map<string, unknown>([
          ['alg', -7],
          ['sig', signWith(key, 'ES256', signed)],
        ]),
    })
    expect(response.status).toBe(200)
  })
})

describe('passkey enrolment › further passkeys', () => {
  test('require a session of two factors', async () => {
    const user = await passkeyUser(accounts)
    const { email } = user.user
    expect(envelope(await begin(user.token))).toEqual({
      code: 403,
      message: 'AAL2 session required to enroll additional MFA factors',
      error: 'insufficient_aal',
    })
    const second = newAuthenticator()
    const { json: both } = await passSecondFactor(accounts, email, user.authenticator)
    expect((await enroll(accounts, both.token, second, {}, 'phone')).status).toBe(200)
    const third = newAuthenticator()
    const { json: byPasskey } = await signInByEmail(accounts, email, second)
    expect((await enroll(accounts, byPasskey.token, third, {}, 'key')).status).toBe(200)
    expect((await passkeysOf(user.user.id)).map(({ display_name }) => display_name)).toEqual([
      'laptop',
      'phone',
      'key',
    ])
    expect(await factorsOf(user.user.id)).toHaveLength(1)
    for (const authenticator of [user.authenticator, second, third]) {
      expect((await signInByEmail(accounts, email, authenticator)).status).toBe(200)
    }
  })

  test('require the other existing factor', async () => {
    const { token } = await totpUser(accounts)
    expect((await begin(token)).status).toBe(403)
  })

  test('are limited in number', async () => {
    const user = await passkeyUser(accounts)
    const { json: session } = await signInByEmail(accounts, user.user.email, user.authenticator)
    const options = (await begin(session.token)).json
    await accounts.app.sql(
      `insert into basalt.passkeys (user_id, credential_id, public_key, sign_count, display_name,
         is_backup_eligible, is_backed_up, is_user_verified, aaguid)
       select user_id, credential_id || n, public_key, 0, 'copy', false, false, true, aaguid
       from basalt.passkeys, generate_series(1, 49) n where user_id = $1`,
      [user.user.id],
    )
    const tooMany = { code: 409, message: 'an account has at most 50 passkeys', error: 'too_many_passkeys' }
    expect(envelope(await begin(session.token))).toEqual(tooMany)
    const attestation_response = newAuthenticator().create(options)
    expect(envelope(await confirm(session.token, { attestation_response }))).toEqual(tooMany)
    expect(await passkeysOf(user.user.id)).toHaveLength(50)
  })

  test('with a known id are rejected, whichever account has it', async () => {
    const registered = { code: 409, message: 'passkey already registered', error: 'passkey_registered' }
    const user = await passkeyUser(accounts)
    const id = Buffer.from(user.credentialId, 'base64url')
    const stranger = await accounts.register()
    expect(envelope(await enroll(accounts, stranger.token, newAuthenticator(), { id }))).toEqual(registered)
    expect(await factorsOf(stranger.user.id)).toEqual([])
    const { json: session } = await signInByEmail(accounts, user.user.email, user.authenticator)
    expect(envelope(await enroll(accounts, session.token, newAuthenticator(), { id }))).toEqual(registered)
    // The first passkey still works.
    expect((await signInByEmail(accounts, user.user.email, user.authenticator)).status).toBe(200)
  })
})

describe('passkey enrolment › a challenge', () => {
  test('works once', async () => {
    const { token, user } = await accounts.register()
    const options = (await begin(token)).json
    const attestation_response = newAuthenticator().create(options)
    expect((await confirm(token, { attestation_response })).status).toBe(200)
    expect(envelope(await confirm(token, { attestation_response }))).toEqual(failed)
    const another = newAuthenticator().create(options)
    expect(envelope(await confirm(token, { attestation_response: another }))).toEqual(failed)
    expect(await passkeysOf(user.id)).toHaveLength(1)
  })

  test('survives a wrong response', async () => {
    const { token } = await accounts.register()
    const options = (await begin(token)).json
    const wrong = newAuthenticator({ origin: 'https://evil.example' }).create(options)
    expect(envelope(await confirm(token, { attestation_response: wrong }))).toEqual(failed)
    const right = newAuthenticator().create(options)
    expect((await confirm(token, { attestation_response: right })).status).toBe(200)
  })

  test('is void after the start of another enrolment', async () => {
    const { token } = await accounts.register()
    const first = newAuthenticator().create((await begin(token)).json)
    const second = newAuthenticator().create((await begin(token)).json)
    expect(envelope(await confirm(token, { attestation_response: first }))).toEqual(failed)
    expect(lastReason(accounts)).toBe('no enrolment of the user waits for this challenge')
    expect((await confirm(token, { attestation_response: second })).status).toBe(200)
  })

  test('is void after five minutes', async () => {
    const { token, user } = await accounts.register()
    const attestation_response = newAuthenticator().create((await begin(token)).json)
    const [row] = await accounts.app.sql(
      `update basalt.mfa_challenges set expires_at = expires_at - interval '5 min' where user_id = $1
       returning expires_at between now() - interval '30 s' and now() as is_due`,
      [user.id],
    )
    expect(row).toEqual({ is_due: true })
    expect(envelope(await confirm(token, { attestation_response }))).toEqual(failed)
  })

  test('is worthless for another user, a sign-in or a second factor', async () => {
    const { token, user } = await accounts.register()
    await begin(token)
    const other = await passkeyUser(accounts)
    const { json: otherSession } = await signInByEmail(accounts, other.user.email, other.authenticator)
    const enrolment = (await begin(otherSession.token)).json
    const byEmail = (await accounts.post('webauthn/login/begin', { email: other.user.email })).json.options
    const discoverable = (await accounts.post('webauthn/login/discover/begin')).json.options
    for (const { challenge } of [enrolment, byEmail, discoverable]) {
      const options = { ...enrolment, excludeCredentials: [], challenge }
      const attestation_response = newAuthenticator().create(options)
      expect(envelope(await confirm(token, { attestation_response }))).toEqual(failed)
    }
    expect(await passkeysOf(user.id)).toEqual([])
  })
})

test('passkey enrolment › a pending sign-in cannot add a passkey by its challenge', async () => {
  const user = await passkeyUser(accounts)
  const pending = await pendingToken(accounts, user.user.email)
  const { options } = (await accounts.post('mfa/webauthn/challenge', undefined, pending)).json
  const attestation_response = newAuthenticator().create({
    rp: { id: options.rpId },
    user: { id: 'AAAA' },
    challenge: options.challenge,
    excludeCredentials: [],
  })
  // The earlier session has passed one factor only.
  expect(envelope(await confirm(user.token, { attestation_response }))).toEqual(failed)
  expect(await passkeysOf(user.user.id)).toHaveLength(1)
})

describe('passkey enrolment › is refused', () => {
  test('without a session, or with a pending one', async () => {
    const user = await passkeyUser(accounts)
    const { json } = await accounts.post('login', {
      email: user.user.email,
      password: goodPassword,
    })
    for (const path of ['mfa/webauthn/enroll', 'mfa/webauthn/enroll/confirm']) {
      expect(envelope(await accounts.post(path, {})).error).toBe('missing_authorization')
      expect(envelope(await accounts.post(path, {}, json.mfa_token)).error).toBe('mfa_required')
    }
  })

  test('to an anonymous user', async () => {
    const { token } = (await accounts.post('anonymous')).json
    const linkFirst = {
      code: 403,
      message: 'link your account before enabling MFA',
      error: 'link_account_first',
    }
    expect(envelope(await begin(token))).toEqual(linkFirst)
    expect(envelope(await confirm(token, { attestation_response: {} }))).toEqual(linkFirst)
  })

  test('to a user who has been disabled or deleted in the meantime', async () => {
    const invalid = { code: 401, message: 'invalid or expired token', error: 'invalid_token' }
    const { user } = await accounts.register()
    await accounts.app.sql('update basalt.users set disabled_at = now() where id = $1', [user.id])
    // The token has no session, so that no other check rejects it.
    expect(envelope(await begin(userToken({ sub: user.id })))).toEqual(invalid)
    expect(envelope(await begin(userToken({ sub: crypto.randomUUID() })))).toEqual(invalid)
  })

  test('while passkeys are disabled', async () => {
    await using off = await createTestApp({ database: accounts.app.database })
    const { token } = await accounts.register()
    const disabled = { code: 404, message: 'WebAuthn MFA is not enabled', error: 'webauthn_disabled' }
    for (const path of ['enroll', 'enroll/confirm']) {
      const response = await off.request('POST', `/api/auth/mfa/webauthn/${path}`, { token, body: {} })
      expect(envelope(response)).toEqual(disabled)
    }
  })

  test("while the server's address has no domain", async () => {
    await using other = await createTestApp({
      database: accounts.app.database,
      config: { 'auth.webauthn_enabled': 'true', 'server.public_base_url': 'http://192.168.1.20:8090' },
    })
    const { token } = await accounts.register()
    expect(envelope(await other.request('POST', '/api/auth/mfa/webauthn/enroll', { token }))).toEqual({
      code: 404,
      message: 'passkeys need a domain name, and 192.168.1.20 is an address',
      error: 'passkeys_need_domain',
    })
  })

  test.each([
    ['attestation_response is required', {}],
    ['attestation_response is required', { attestation_response: null }],
    ['display_name: must be string', { display_name: 7, attestation_response: {} }],
    [
      'display_name: must be at most 100 characters, without control characters',
      { display_name: 'x'.repeat(101), attestation_response: {} },
    ],
    [
      'display_name: must be at most 100 characters, without control characters',
      { display_name: 'a\0b', attestation_response: {} },
    ],
    ['display_name: must not have more than 1024 characters', { display_name: 'x'.repeat(1025) }],
    ['body must be object', []],
  ])('with "%s"', async (message, body) => {
    const { token } = await accounts.register()
    expect(await confirm(token, body)).toMatchObject({ status: 400, json: { message } })
  })
})

test('passkeys › an account whose unverified address signs in by mail keeps its passkeys, and requires one', async () => {
  const user = await passkeyUser(accounts)
  const { json: session } = await signInByEmail(accounts, user.user.email, user.authenticator)
  const attestation_response = newAuthenticator().create((await begin(session.token)).json)
  const before = await passkeysOf(user.user.id)
  expect(before).toHaveLength(1)
  const token = await mailedLinkToken(accounts, user.user.email)
  const confirmed = await accounts.post('magic-link/confirm', { token })
  expect(confirmed.json).toEqual({ mfa_pending: true, mfa_token: expect.any(String) })
  expect(await passkeysOf(user.user.id)).toEqual(before)
  // Neither the old session nor the pending token completes the enrolment that the session started.
  expect((await confirm(session.token, { attestation_response })).status).toBe(401)
  expect((await confirm(confirmed.json.mfa_token, { attestation_response })).status).toBe(401)
  expect(await passkeysOf(user.user.id)).toEqual(before)
})

test('passkeys › an administrator removes the passkeys of a user', async () => {
  const user = await passkeyUser(accounts)
  const token = await accounts.app.adminToken()
  const path = `/api/admin/users/${user.user.id}/factors`
  expect((await accounts.app.request('GET', path, { token })).json.factors).toMatchObject([
    { method: 'webauthn', label: 'Passkey' },
  ])
  expect((await accounts.app.request('DELETE', path, { token })).status).toBe(204)
  expect(await passkeysOf(user.user.id)).toEqual([])
  const login = await accounts.post('login', { email: user.user.email, password: goodPassword })
  expect(login.json.token).toBeDefined()
})
