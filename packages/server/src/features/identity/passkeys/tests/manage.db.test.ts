import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AccountsApp, goodPassword } from '../../../../../test/accounts.ts'
import {
  createPasskeysApp,
  enroll,
  newAuthenticator,
  type PasskeyUser,
  passkeyUser,
  passSecondFactor,
  signInByEmail,
} from '../../../../../test/passkeys.ts'
import { aal2Session, pendingToken, totpUser } from '../../../../../test/second-factors.ts'
import { createTestApp, envelope } from '../../../../../test/test-app.ts'

let accounts: AccountsApp
let stranger: PasskeyUser
beforeAll(async () => {
  accounts = await createPasskeysApp()
  stranger = await passkeyUser(accounts)
})
afterAll(() => accounts[Symbol.asyncDispose]())

const base = '/api/auth/mfa/webauthn'
const list = async (token: string) =>
  (await accounts.app.request('GET', `${base}/credentials`, { token })).json.credentials
const rename = (token: string, id: string, body: unknown) =>
  accounts.app.request('PATCH', `${base}/credentials/${id}`, { token, body })
const remove = (token: string, id: string) =>
  accounts.app.request('DELETE', `${base}/credentials/${id}`, { token })
const removeAll = (token: string, path = base) => accounts.app.request('DELETE', path, { token })

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const notFound = { code: 404, message: 'passkey not found', error: 'passkey_not_found' }
const insufficient = {
  code: 403,
  message: 'MFA verification is required for this action',
  error: 'insufficient_aal',
}
const last = { code: 409, message: 'the last passkey cannot be deleted by itself', error: 'last_passkey' }

/** Creates a user with two passkeys, and a session of two factors. */
async function userOfTwo() {
  const user = await passkeyUser(accounts, newAuthenticator({ transports: ['internal'] }))
  const { json: session } = await passSecondFactor(accounts, user.user.email, user.authenticator)
  const second = newAuthenticator()
  const enrolled = await enroll(accounts, session.token, second, {}, 'phone')
  if (enrolled.status !== 200) throw new Error(enrolled.text)
  const secondId = second.passkeys[0]?.id.toString('base64url') ?? ''
  return { ...user, second, secondId, strong: String(session.token) }
}

describe('GET /api/auth/mfa/webauthn/credentials', () => {
  test('shows what a user recognizes a passkey by, and nothing else', async () => {
    const user = await userOfTwo()
    expect(await list(user.token)).toEqual([
      {
        credential_id: user.credentialId,
        display_name: 'laptop',
        transports: ['internal'],
        created_at: time,
        last_used_at: time,
      },
      { credential_id: user.secondId, display_name: 'phone', transports: [], created_at: time },
    ])
    await signInByEmail(accounts, user.user.email, user.second)
    expect((await list(user.token))[1]).toHaveProperty('last_used_at', time)
  })

  test('returns an empty list for a user without passkeys', async () => {
    expect(await list((await accounts.register()).token)).toEqual([])
    expect(await list((await accounts.post('anonymous')).json.token)).toEqual([])
  })
})

describe('passkey names', () => {
  test('can be changed by the user only', async () => {
    const user = await passkeyUser(accounts)
    const renamed = await rename(user.token, user.credentialId, { display_name: ' Küche 🍳 ' })
    expect([renamed.status, renamed.json]).toEqual([
      200,
      { credential_id: user.credentialId, display_name: 'Küche 🍳', transports: [], created_at: time },
    ])
    expect(await list(user.token)).toEqual([renamed.json])
    expect(envelope(await rename(stranger.token, user.credentialId, { display_name: 'x' }))).toEqual(notFound)
    expect(await list(user.token)).toEqual([renamed.json])
  })

  test.each(['AAAA', 'no%00such', '%F0%9F%94%91', 'a'.repeat(2000)])(
    'cannot be changed for the unknown passkey %s',
    async (id) => {
      expect(envelope(await rename(stranger.token, id, { display_name: 'x' }))).toEqual(notFound)
      const { json: session } = await passSecondFactor(accounts, stranger.user.email, stranger.authenticator)
      expect(envelope(await remove(session.token, id))).toEqual(notFound)
    },
  )

  test.each([
    [{}, 'display_name is required'],
    [{ display_name: ' ' }, 'display_name is required'],
    [{ display_name: null }, 'display_name: must be string'],
    [
      { display_name: 'x'.repeat(101) },
      'display_name: must be at most 100 characters, without control characters',
    ],
    [{ display_name: 'a\nb' }, 'display_name: must be at most 100 characters, without control characters'],
    [[], 'body must be object'],
  ])('%o returns 400 %s', async (body, message) => {
    const response = await rename(stranger.token, stranger.credentialId, body)
    expect(response).toMatchObject({ status: 400, json: { message } })
  })
})

describe('deletion of one passkey', () => {
  test('requires a session of two factors', async () => {
    const user = await userOfTwo()
    expect(envelope(await remove(user.token, user.secondId))).toEqual(insufficient)
    expect(await list(user.token)).toHaveLength(2)
    expect((await remove(user.strong, user.credentialId)).status).toBe(204)
    expect(await list(user.token)).toMatchObject([{ credential_id: user.secondId }])
    expect(envelope(await remove(user.strong, user.credentialId))).toEqual(notFound)
    const [passkey] = user.authenticator.passkeys
    const response = await signInByEmail(accounts, user.user.email, user.authenticator, {
      passkey: passkey ?? expect.fail(),
    })
    expect(response.status).toBe(401)
    expect((await signInByEmail(accounts, user.user.email, user.second)).status).toBe(200)
  })

  test('accepts a session that began with a passkey', async () => {
    const user = await userOfTwo()
    const { json: session } = await signInByEmail(accounts, user.user.email, user.second)
    expect((await remove(session.token, user.credentialId)).status).toBe(204)
  })

  test('keeps the last passkey, and the factor with it', async () => {
    const user = await userOfTwo()
    expect((await remove(user.strong, user.secondId)).status).toBe(204)
    expect(envelope(await remove(user.strong, user.credentialId))).toEqual(last)
    expect(await list(user.token)).toHaveLength(1)
    expect((await passSecondFactor(accounts, user.user.email, user.authenticator)).status).toBe(200)
  })

  test('returns 404 for a passkey of another user', async () => {
    const user = await userOfTwo()
    expect(envelope(await remove(user.strong, stranger.credentialId))).toEqual(notFound)
    expect(await list(stranger.token)).toHaveLength(1)
  })
})

describe('removal of all passkeys', () => {
  test.each([base, `${base}/`])('removes the factor and the backup codes too, by DELETE %s', async (path) => {
    const user = await userOfTwo()
    expect((await accounts.post('mfa/backup/generate', undefined, user.strong)).status).toBe(200)
    expect(envelope(await removeAll(user.token, path))).toEqual(insufficient)
    expect(await list(user.token)).toHaveLength(2)
    expect((await removeAll(user.strong, path)).status).toBe(204)
    for (const table of ['passkeys', 'mfa_factors', 'mfa_backup_codes']) {
      const rows = await accounts.app.sql(`select 1 from basalt.${table} where user_id = $1`, [user.user.id])
      expect(rows).toEqual([])
    }
    const none = { code: 404, message: 'no WebAuthn factor enrolled', error: 'no_webauthn_factor' }
    expect(envelope(await removeAll(user.strong, path))).toEqual(none)
    const login = await accounts.post('login', { email: user.user.email, password: goodPassword })
    expect(login.json.token).toBeDefined()
    // A session of one factor may enrol a first factor again.
    expect((await enroll(accounts, login.json.token, user.authenticator)).status).toBe(200)
  })

  test('also happens with the removal of the factor', async () => {
    const user = await userOfTwo()
    const { factors } = (await accounts.app.request('GET', '/api/auth/mfa/factors', { token: user.strong }))
      .json
    expect((await removeAll(user.strong, `/api/auth/mfa/factors/${factors[0].id}`)).status).toBe(204)
    expect(await list(user.token)).toEqual([])
  })

  test('keeps other factors, and then the backup codes', async () => {
    const totp = await totpUser(accounts)
    const { token } = await aal2Session(accounts, totp)
    expect((await enroll(accounts, token, newAuthenticator())).status).toBe(200)
    expect((await accounts.post('mfa/backup/generate', undefined, token)).status).toBe(200)
    expect((await removeAll(token)).status).toBe(204)
    const { factors } = (await accounts.app.request('GET', '/api/auth/mfa/factors', { token })).json
    expect(factors).toMatchObject([{ method: 'totp' }])
    const count = await accounts.app.request('GET', '/api/auth/mfa/backup/count', { token })
    expect(count.json).toEqual({ remaining: 10 })
  })
})

const endpoints = [
  ['GET', `${base}/credentials`],
  ['PATCH', `${base}/credentials/AAAA`],
  ['DELETE', `${base}/credentials/AAAA`],
  ['DELETE', base],
] as const

test.each(endpoints)('passkeys › %s %s requires a session', async (method, path) => {
  const body = method === 'GET' ? undefined : { display_name: 'x' }
  expect(envelope(await accounts.app.request(method, path, { body })).error).toBe('missing_authorization')
  const token = await pendingToken(accounts, stranger.user.email)
  expect(envelope(await accounts.app.request(method, path, { body, token })).error).toBe('mfa_required')
})

test('passkeys › return 404 while they are disabled', async () => {
  await using off = await createTestApp({ database: accounts.app.database })
  for (const [method, path] of endpoints) {
    const body = method === 'GET' ? undefined : { display_name: 'x' }
    const response = await off.request(method, path, { token: stranger.token, body })
    expect(envelope(response).error).toBe('webauthn_disabled')
  }
})
