import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AccountsApp, claimsOf, goodPassword } from '../../../../../test/accounts.ts'
import { aal2Session, createMfaApp, pendingToken, totpUser } from '../../../../../test/second-factors.ts'
import { envelope, type TestApp } from '../../../../../test/test-app.ts'

let accounts: AccountsApp
let other: TestApp
beforeAll(async () => {
  accounts = await createMfaApp()
  other = await accounts.secondNode()
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await accounts[Symbol.asyncDispose]()
})

const insufficient = {
  code: 403,
  message: 'MFA verification is required for this action',
  error: 'insufficient_aal',
}
const invalid = {
  code: 401,
  message: 'invalid or already used backup code',
  error: 'invalid_backup_code',
}
const get = (path: string, token: string) => accounts.app.request('GET', `/api/auth/mfa/${path}`, { token })
const remaining = async (token: string) => (await get('backup/count', token)).json

async function userWithCodes() {
  const user = await totpUser(accounts)
  const { token } = await aal2Session(accounts, user)
  const response = await accounts.post('mfa/backup/generate', undefined, token)
  expect(response.status).toBe(200)
  return { user, token, codes: response.json.codes as string[] }
}

describe('MFA backup codes', () => {
  test('are ten, shown once, stored as hashes, and work once each', async () => {
    const { user, token, codes } = await userWithCodes()
    expect(codes).toEqual(Array(10).fill(expect.stringMatching(/^[a-hjkmnp-z2-9]{5}-[a-hjkmnp-z2-9]{5}$/)))
    expect(new Set(codes).size).toBe(10)
    expect(await remaining(token)).toEqual({ remaining: 10 })
    const stored = JSON.stringify(
      await accounts.app.sql("select encode(code_hash, 'hex') from basalt.mfa_backup_codes"),
    )
    for (const code of codes) expect(stored).not.toContain(code.replace('-', ''))
    const pending = await pendingToken(accounts, user.user.email)
    const typed = ` ${codes[0]?.toUpperCase().replace('-', ' ')} `
    const verified = await accounts.post('mfa/backup/verify', { code: typed }, pending)
    expect(claimsOf(verified.json.token)).toMatchObject({ aal: 'aal2', amr: ['password', 'backup_code'] })
    expect(envelope(await accounts.post('mfa/backup/verify', { code: codes[0] }, pending))).toEqual(invalid)
    expect(await remaining(token)).toEqual({ remaining: 9 })
  })

  test('accept one code once for ten concurrent requests on two nodes', async () => {
    const { user, codes } = await userWithCodes()
    const pending = await pendingToken(accounts, user.user.email)
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 ? other : accounts.app).request('POST', '/api/auth/mfa/backup/verify', {
          token: pending,
          body: { code: codes[1] },
        }),
      ),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)])
  })

  test('are replaced as a whole, also by concurrent requests', async () => {
    const { user, token, codes } = await userWithCodes()
    await Promise.all(
      Array.from({ length: 5 }, () => accounts.post('mfa/backup/regenerate', undefined, token)),
    )
    expect(await remaining(token)).toEqual({ remaining: 10 })
    const pending = await pendingToken(accounts, user.user.email)
    expect(envelope(await accounts.post('mfa/backup/verify', { code: codes[0] }, pending))).toEqual(invalid)
  })

  test('belong to one user, and require an aal2 session to generate', async () => {
    const { codes } = await userWithCodes()
    const another = await totpUser(accounts)
    const pending = await pendingToken(accounts, another.user.email)
    expect(envelope(await accounts.post('mfa/backup/verify', { code: codes[0] }, pending))).toEqual(invalid)
    for (const path of ['mfa/backup/generate', 'mfa/backup/regenerate']) {
      expect(envelope(await accounts.post(path, undefined, another.token))).toEqual(insufficient)
      expect((await accounts.post(path)).status).toBe(401)
    }
    expect(await remaining(another.token)).toEqual({ remaining: 0 })
    expect(envelope(await accounts.post('mfa/backup/verify', {}, pending))).toMatchObject({
      message: 'code is required',
    })
  })
})

describe('MFA factors', () => {
  test('are listed for both kinds of token', async () => {
    const user = await totpUser(accounts)
    const listed = { factors: [{ id: user.factorId, method: 'totp', label: 'Authenticator app' }] }
    expect((await get('factors', user.token)).json).toEqual(listed)
    expect((await get('factors', await pendingToken(accounts, user.user.email))).json).toEqual(listed)
    expect((await get('factors', (await accounts.register()).token)).json).toEqual({ factors: [] })
    expect((await accounts.app.request('GET', '/api/auth/mfa/factors')).status).toBe(401)
  })

  test('are read and removed in an aal2 session', async () => {
    const { user, token } = await userWithCodes()
    const path = `/api/auth/mfa/factors/${user.factorId}`
    expect((await accounts.app.request('GET', path, { token })).json).toMatchObject({
      id: user.factorId,
      method: 'totp',
    })
    expect(envelope(await accounts.app.request('DELETE', path, { token: user.token }))).toEqual(insufficient)
    const stranger = await aal2Session(accounts, await totpUser(accounts))
    const notFound = { code: 404, message: 'factor not found', error: 'factor_not_found' }
    expect(envelope(await accounts.app.request('DELETE', path, { token: stranger.token }))).toEqual(notFound)
    expect(envelope(await accounts.app.request('GET', path, { token: stranger.token }))).toEqual(notFound)
    expect((await accounts.app.request('DELETE', path, { token })).status).toBe(204)
    expect(envelope(await accounts.app.request('DELETE', path, { token }))).toEqual(notFound)
    // The backup codes go with the last factor, and a sign-in needs one factor again.
    expect(await remaining(token)).toEqual({ remaining: 0 })
    const login = await accounts.post('login', { email: user.user.email, password: goodPassword })
    expect(login.json.token).toBeDefined()
  })

  test('are listed and reset by the administrator', async () => {
    const { user } = await userWithCodes()
    const admin = await accounts.app.adminToken()
    const path = `/api/admin/users/${user.user.id}/factors`
    expect((await accounts.app.request('GET', path, { token: admin })).json.factors).toHaveLength(1)
    expect((await accounts.app.request('DELETE', path, { token: user.token })).status).toBe(401)
    expect((await accounts.app.request('DELETE', path, { token: admin })).status).toBe(204)
    expect(
      await accounts.app.sql('select 1 from basalt.mfa_factors where user_id = $1', [user.user.id]),
    ).toEqual([])
    expect(
      await accounts.app.sql('select 1 from basalt.mfa_backup_codes where user_id = $1', [user.user.id]),
    ).toEqual([])
    expect(
      await accounts.app.sql(
        "select target from basalt.audit where action = 'users.reset_factors' and target = $1",
        [user.user.id],
      ),
    ).toHaveLength(1)
    const unknown = '/api/admin/users/7b0b1c1e-0000-4000-8000-000000000000/factors'
    expect((await accounts.app.request('GET', unknown, { token: admin })).status).toBe(404)
    expect((await accounts.app.request('DELETE', unknown, { token: admin })).status).toBe(404)
  })

  test('give no access to a user whose address is still unverified', async () => {
    const user = await totpUser(accounts)
    const pending = await pendingToken(accounts, user.user.email)
    await accounts.app.request('DELETE', `/api/admin/users/${user.user.id}/factors`, {
      token: await accounts.app.adminToken(),
    })
    expect((await accounts.post('mfa/totp/challenge', undefined, pending)).status).toBe(404)
    expect((await accounts.app.request('GET', '/api/auth/me', { token: pending })).status).toBe(401)
  })
})
