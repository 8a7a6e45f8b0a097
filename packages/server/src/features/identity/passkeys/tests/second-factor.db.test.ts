import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AccountsApp, claimsOf, mailedLinkToken } from '../../../../../test/accounts.ts'
import {
  createPasskeysApp,
  newAuthenticator,
  type PasskeyUser,
  passkeyUser,
  passSecondFactor,
  signInByEmail,
} from '../../../../../test/passkeys.ts'
import { pendingToken, totpCode, totpUser } from '../../../../../test/second-factors.ts'
import { createTestApp, envelope } from '../../../../../test/test-app.ts'

let accounts: AccountsApp
let user: PasskeyUser
beforeAll(async () => {
  accounts = await createPasskeysApp()
  user = await passkeyUser(accounts)
})
beforeEach(() => accounts.app.sql('delete from basalt.attempts'))
afterAll(() => accounts[Symbol.asyncDispose]())

const uuid = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
const challenge = (token?: string) => accounts.post('mfa/webauthn/challenge', undefined, token)
const verify = (token: string | undefined, body: unknown) => accounts.post('mfa/webauthn/verify', body, token)
const failed = { code: 401, message: 'WebAuthn assertion failed', error: 'webauthn_assertion_failed' }
const malformed = { code: 400, message: 'invalid assertion response', error: 'invalid_assertion_response' }
const used = { code: 409, message: 'challenge already verified', error: 'challenge_used' }
const unknown = { code: 404, message: 'challenge not found or expired', error: 'challenge_not_found' }
const locked = {
  code: 429,
  message: 'too many failed attempts, try again later',
  error: 'too_many_mfa_failures',
}

describe('passkey as second factor', () => {
  test('is required of a user who has one', async () => {
    const transports = ['nfc', 'usb']
    const who = await passkeyUser(accounts, newAuthenticator({ transports }))
    const token = await pendingToken(accounts, who.user.email)
    const response = await challenge(token)
    expect([response.status, response.json]).toEqual([
      200,
      {
        challenge_id: uuid,
        options: {
          rpId: 'app.example.com',
          challenge: expect.stringMatching(/^[\w-]{43}$/),
          timeout: 300_000,
          userVerification: 'preferred',
          allowCredentials: [{ type: 'public-key', id: who.credentialId, transports }],
        },
      },
    ])
    expect((await accounts.app.request('GET', '/api/auth/mfa/factors', { token })).json).toEqual({
      factors: [{ id: uuid, method: 'webauthn', label: 'Passkey' }],
    })
  })

  test('raises the sign-in to aal2, permanently', async () => {
    const response = await passSecondFactor(accounts, user.user.email, user.authenticator)
    const claims = claimsOf(response.json.token)
    expect(claims).toMatchObject({ sub: user.user.id, aal: 'aal2', amr: ['password', 'webauthn'] })
    const refreshed = await accounts.post('refresh', { refreshToken: response.json.refreshToken })
    expect(claimsOf(refreshed.json.token)).toMatchObject({ aal: 'aal2', amr: ['password', 'webauthn'] })
    const backup = await accounts.post('mfa/backup/generate', undefined, response.json.token)
    expect(backup.json.codes).toHaveLength(10)
  })

  test('completes a sign-in by mailed link too', async () => {
    const link = await mailedLinkToken(accounts, user.user.email)
    // The mail verifies the address. An unverified account would otherwise lose the passkey.
    await accounts.app.sql('update basalt.users set email_verified_at = now() where id = $1', [user.user.id])
    const { mfa_token: token } = (await accounts.post('magic-link/confirm', { token: link })).json
    const { challenge_id, options } = (await challenge(token)).json
    const response = await verify(token, {
      challenge_id,
      assertion_response: user.authenticator.get(options),
    })
    expect(claimsOf(response.json.token)).toMatchObject({ aal: 'aal2', amr: ['otp', 'webauthn'] })
  })

  test('cannot be requested for a user who has none', async () => {
    const { user: other } = await totpUser(accounts)
    const token = await pendingToken(accounts, other.email)
    const none = { code: 404, message: 'no WebAuthn factor enrolled', error: 'no_webauthn_factor' }
    expect(envelope(await challenge(token))).toEqual(none)
  })

  test('requires a pending sign-in', async () => {
    const { json: session } = await signInByEmail(accounts, user.user.email, user.authenticator)
    const none = { code: 401, message: 'no MFA challenge pending', error: 'no_pending_mfa' }
    for (const token of [undefined, session.token, 'nonsense']) {
      expect(envelope(await challenge(token))).toEqual(none)
      expect(envelope(await verify(token, {}))).toEqual(none)
    }
  })

  test('does not complete a sign-in that has been ended in the meantime', async () => {
    const who = await passkeyUser(accounts)
    const token = await pendingToken(accounts, who.user.email)
    const { challenge_id, options } = (await challenge(token)).json
    await accounts.app.sql('delete from basalt.pending_sign_ins where user_id = $1', [who.user.id])
    const assertion_response = who.authenticator.get(options)
    expect(envelope(await verify(token, { challenge_id, assertion_response })).error).toBe('no_pending_mfa')
    const stored = await accounts.app.sql('select sign_count from basalt.passkeys where user_id = $1', [
      who.user.id,
    ])
    expect(stored).toEqual([{ sign_count: '0' }])
  })

  test('is rejected if it has become that of another user in the meantime', async () => {
    const [who, heir] = [await passkeyUser(accounts), await accounts.register()]
    const token = await pendingToken(accounts, who.user.email)
    const { challenge_id, options } = (await challenge(token)).json
    const ids = [heir.user.id, who.user.id]
    await accounts.app.sql('update basalt.passkeys set user_id = $1 where user_id = $2', ids)
    for (const userHandle of [null, Buffer.from(heir.user.id).toString('base64url')]) {
      const assertion_response = who.authenticator.get(options, { userHandle })
      expect(envelope(await verify(token, { challenge_id, assertion_response }))).toEqual(failed)
    }
  })

  test('is rejected for a disabled user', async () => {
    const who = await passkeyUser(accounts)
    const token = await pendingToken(accounts, who.user.email)
    const { challenge_id, options } = (await challenge(token)).json
    await accounts.app.sql('update basalt.users set disabled_at = now() where id = $1', [who.user.id])
    const assertion_response = who.authenticator.get(options)
    expect(envelope(await verify(token, { challenge_id, assertion_response })).error).toBe('no_pending_mfa')
  })

  test.each([
    [{}, 'challenge_id is required'],
    [{ challenge_id: 'x' }, 'assertion_response is required'],
    [{ challenge_id: 'x', assertion_response: null }, 'assertion_response is required'],
    [{ challenge_id: {}, assertion_response: {} }, 'challenge_id: must be string'],
  ])('with %o returns 400 %s', async (body, message) => {
    const token = await pendingToken(accounts, user.user.email)
    expect(await verify(token, body)).toMatchObject({ status: 400, json: { message } })
    expect(await attempts()).toEqual([])
  })

  test('accepts the other names of the members', async () => {
    const token = await pendingToken(accounts, user.user.email)
    const { challenge_id: challengeId, options } = (await challenge(token)).json
    expect((await verify(token, { challengeId, assertion: user.authenticator.get(options) })).status).toBe(
      200,
    )
  })

  test('returns 404 while passkeys are disabled', async () => {
    await using off = await createTestApp({ database: accounts.app.database })
    const token = await pendingToken(accounts, user.user.email)
    for (const path of ['challenge', 'verify']) {
      const response = await off.request('POST', `/api/auth/mfa/webauthn/${path}`, { token, body: {} })
      expect(envelope(response).error).toBe('webauthn_disabled')
    }
  })
})

/** Reads the attempts that count towards the lockout. */
const attempts = () =>
  accounts.app.sql(`select count from basalt.attempts where key like 'mfa.failures:%' and count > 0`)

describe('passkey challenge of a second factor', () => {
  test('works once, in the sign-in that requested it or another one of its user', async () => {
    const [token, another] = [
      await pendingToken(accounts, user.user.email),
      await pendingToken(accounts, user.user.email),
    ]
    const { challenge_id, options } = (await challenge(token)).json
    const assertion_response = user.authenticator.get(options)
    expect((await verify(another, { challenge_id, assertion_response })).status).toBe(200)
    expect(envelope(await verify(token, { challenge_id, assertion_response }))).toEqual(used)
    expect(envelope(await verify(token, { challenge_id, assertion_response: {} }))).toEqual(used)
    expect(await attempts()).toEqual([])
  })

  test('is unknown, without a counted failure, if it is expired, invented, or of another user or factor', async () => {
    const stranger = await passkeyUser(accounts)
    const strangersToken = await pendingToken(accounts, stranger.user.email)
    const token = await pendingToken(accounts, user.user.email)
    const foreign = (await challenge(strangersToken)).json
    const expired = (await challenge(token)).json
    await accounts.app.sql('update basalt.mfa_challenges set expires_at = now() where id = $1', [
      expired.challenge_id,
    ])
    const assertion_response = user.authenticator.get(expired.options)
    for (const challenge_id of [
      foreign.challenge_id,
      expired.challenge_id,
      crypto.randomUUID(),
      'nonsense',
    ]) {
      expect(envelope(await verify(token, { challenge_id, assertion_response }))).toEqual(unknown)
      expect(envelope(await verify(token, { challenge_id, assertion_response: {} }))).toEqual(unknown)
    }
    expect(await attempts()).toEqual([])
    const answer = stranger.authenticator.get(foreign.options)
    const { challenge_id } = foreign
    expect((await verify(strangersToken, { challenge_id, assertion_response: answer })).status).toBe(200)
  })

  test('is not interchangeable with one of an authenticator app', async () => {
    const totp = await totpUser(accounts)
    const token = await pendingToken(accounts, totp.user.email)
    const { challenge_id } = (await accounts.post('mfa/totp/challenge', undefined, token)).json
    const assertion_response = user.authenticator.get({ rpId: 'app.example.com', challenge: 'AAAA' })
    expect(envelope(await verify(token, { challenge_id, assertion_response }))).toEqual(unknown)
    const pending = await pendingToken(accounts, user.user.email)
    const { challenge_id: ours } = (await challenge(pending)).json
    const code = totpCode(totp.secret)
    const crossed = await accounts.post('mfa/totp/verify', { challenge_id: ours, code }, pending)
    expect(envelope(crossed)).toEqual(unknown)
  })
})

describe('failures of a passkey as second factor', () => {
  test('lock all second factors after fifteen, of every kind together', async () => {
    const who = await passkeyUser(accounts)
    const token = await pendingToken(accounts, who.user.email)
    const { challenge_id, options } = (await challenge(token)).json
    const respond = (assertion_response: unknown) => verify(token, { challenge_id, assertion_response })
    await passSecondFactor(accounts, who.user.email, who.authenticator, { signCount: 50 })
    for (let time = 0; time < 5; time += 1) {
      expect(envelope(await respond({}))).toEqual(malformed)
      const evil = who.authenticator.get(options, { clientData: { origin: 'https://evil.example' } })
      expect(envelope(await respond(evil))).toEqual(failed)
      const cloned = who.authenticator.get(options, { signCount: 50 })
      expect(envelope(await respond(cloned)).error).toBe('cloned_authenticator')
    }
    const refused = await respond(who.authenticator.get(options, { signCount: 60 }))
    expect(envelope(refused)).toEqual(locked)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(1700)
    expect(envelope(await accounts.post('mfa/backup/verify', { code: 'x' }, token))).toEqual(locked)
    // A sign-in by passkey alone is no second factor, and no other user is locked.
    expect((await signInByEmail(accounts, who.user.email, who.authenticator, { signCount: 61 })).status).toBe(
      200,
    )
    expect((await passSecondFactor(accounts, user.user.email, user.authenticator)).status).toBe(200)
  })

  test('are cleared after a success', async () => {
    const who = await passkeyUser(accounts)
    const token = await pendingToken(accounts, who.user.email)
    const { challenge_id, options } = (await challenge(token)).json
    for (let time = 0; time < 14; time += 1) {
      expect((await verify(token, { challenge_id, assertion_response: {} })).status).toBe(400)
    }
    const assertion_response = who.authenticator.get(options)
    expect((await verify(token, { challenge_id, assertion_response })).status).toBe(200)
    expect(await attempts()).toEqual([])
  })
})
