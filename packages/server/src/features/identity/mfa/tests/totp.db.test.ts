import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AccountsApp, claimsOf, goodPassword, mailedLinkToken } from '../../../../../test/accounts.ts'
import {
  aal2Session,
  createMfaApp,
  pendingToken,
  totpCode,
  totpUser,
} from '../../../../../test/second-factors.ts'
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

const uuid = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
const challenge = async (token: string): Promise<string> =>
  (await accounts.post('mfa/totp/challenge', undefined, token)).json.challenge_id
const verify = (token: string, body: unknown, node = accounts.app) =>
  node.request('POST', '/api/auth/mfa/totp/verify', { token, body })

describe('TOTP enrolment', () => {
  test('shows a secret once and takes effect when confirmed', async () => {
    const { token, user } = await accounts.register()
    const enrolled = await accounts.post('mfa/totp/enroll', undefined, token)
    expect(enrolled.status).toBe(200)
    expect(enrolled.json).toEqual({
      factor_id: uuid,
      secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
      uri: `otpauth://totp/Basalt:${encodeURIComponent(user.email)}?issuer=Basalt&secret=${enrolled.json.secret}&algorithm=SHA1&digits=6&period=30`,
    })
    // An unconfirmed factor does not block a sign-in.
    expect(
      (await accounts.post('login', { email: user.email, password: goodPassword })).json.token,
    ).toBeDefined()
    const { secret } = enrolled.json
    expect(envelope(await accounts.post('mfa/totp/enroll/confirm', { code: '000000' }, token))).toEqual({
      code: 401,
      message: 'invalid TOTP code',
      error: 'invalid_totp_code',
    })
    const confirmed = await accounts.post('mfa/totp/enroll/confirm', { code: totpCode(secret) }, token)
    expect([confirmed.status, confirmed.json]).toEqual([200, { message: 'TOTP MFA enrollment confirmed' }])
    const login = await accounts.post('login', { email: user.email, password: goodPassword })
    expect(login.json).toEqual({ mfa_pending: true, mfa_token: expect.any(String) })
    const claims = claimsOf(login.json.mfa_token)
    expect(claims).toEqual({
      sub: user.id,
      email: user.email,
      aal: 'aal1',
      amr: ['password'],
      mfa_pending: true,
      jti: uuid,
      iat: expect.any(Number),
      exp: Number(claims.iat) + 300,
    })
    // The earlier session keeps its level.
    expect((await accounts.app.request('GET', '/api/auth/me', { token })).status).toBe(200)
  })

  test('encrypts the secret', async () => {
    const { secret, user } = await totpUser(accounts)
    const [row] = await accounts.app.sql('select secret from basalt.mfa_factors where user_id = $1', [
      user.id,
    ])
    expect(row?.secret).toMatch(/^[\w-]{8}\.[\w-]+$/)
    expect(row?.secret).not.toContain(secret)
  })

  test('restarts for an unconfirmed factor', async () => {
    const { token } = await accounts.register()
    const first = (await accounts.post('mfa/totp/enroll', undefined, token)).json
    const second = (await accounts.post('mfa/totp/enroll', undefined, token)).json
    expect(second.factor_id).toBe(first.factor_id)
    expect(
      (await accounts.post('mfa/totp/enroll/confirm', { code: totpCode(first.secret) }, token)).status,
    ).toBe(401)
    expect(
      (await accounts.post('mfa/totp/enroll/confirm', { code: totpCode(second.secret) }, token)).status,
    ).toBe(200)
  })

  test('is refused to an anonymous user, for a second app, and without an aal2 session', async () => {
    const anonymous = (await accounts.post('anonymous')).json
    const linkFirst = {
      code: 403,
      message: 'link your account before enabling MFA',
      error: 'link_account_first',
    }
    expect(envelope(await accounts.post('mfa/totp/enroll', undefined, anonymous.token))).toEqual(linkFirst)
    expect(envelope(await accounts.post('mfa/totp/enroll/confirm', { code: '1' }, anonymous.token))).toEqual(
      linkFirst,
    )
    const user = await totpUser(accounts)
    expect(envelope(await accounts.post('mfa/email/enroll', undefined, user.token))).toEqual({
      code: 403,
      message: 'AAL2 session required to enroll additional MFA factors',
      error: 'insufficient_aal',
    })
    const { token } = await aal2Session(accounts, user)
    expect(envelope(await accounts.post('mfa/totp/enroll', undefined, token))).toEqual({
      code: 409,
      message: 'TOTP MFA already enrolled',
      error: 'totp_enrolled',
    })
  })

  test('requires its fields', async () => {
    const { token } = await accounts.register()
    expect(envelope(await accounts.post('mfa/totp/enroll/confirm', {}, token))).toEqual({
      code: 400,
      message: 'code is required',
      error: 'field_required',
    })
    expect(envelope(await accounts.post('mfa/totp/enroll/confirm', { code: '123456' }, token))).toEqual({
      code: 404,
      message: 'no pending TOTP enrollment found',
      error: 'no_totp_enrollment',
    })
  })

  test('is confirmed once by ten concurrent requests', async () => {
    const { token } = await accounts.register()
    const { secret } = (await accounts.post('mfa/totp/enroll', undefined, token)).json
    const code = totpCode(secret)
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 ? other : accounts.app).request('POST', '/api/auth/mfa/totp/enroll/confirm', {
          token,
          body: { code },
        }),
      ),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(responses.every(({ status }) => [200, 401, 404].includes(status))).toBe(true)
  })
})

describe('TOTP verification', () => {
  test('leads to an aal2 session, which keeps its level when refreshed', async () => {
    const user = await totpUser(accounts)
    const token = await pendingToken(accounts, user.user.email)
    const response = await verify(token, {
      challenge_id: await challenge(token),
      code: totpCode(user.secret),
    })
    expect(response.status).toBe(200)
    expect(response.json).toEqual({
      token: expect.any(String),
      refreshToken: expect.any(String),
      user: expect.objectContaining({ id: user.user.id, email: user.user.email }),
    })
    expect(claimsOf(response.json.token)).toMatchObject({ aal: 'aal2', amr: ['password', 'totp'] })
    const refreshed = await accounts.post('refresh', { refreshToken: response.json.refreshToken })
    expect(claimsOf(refreshed.json.token)).toMatchObject({ aal: 'aal2', amr: ['password', 'totp'] })
  })

  test('follows a magic link too', async () => {
    const user = await totpUser(accounts)
    await accounts.app.sql('update basalt.users set email_verified_at = now() where id = $1', [user.user.id])
    const link = await mailedLinkToken(accounts, user.user.email)
    const { json } = await accounts.post('magic-link/confirm', { token: link })
    expect(json).toEqual({ mfa_pending: true, mfa_token: expect.any(String) })
    const verified = await verify(json.mfa_token, {
      challenge_id: await challenge(json.mfa_token),
      code: totpCode(user.secret),
    })
    expect(claimsOf(verified.json.token)).toMatchObject({ aal: 'aal2', amr: ['otp', 'totp'] })
  })

  test('accepts each code, and every earlier one, once', async () => {
    const user = await totpUser(accounts)
    await aal2Session(accounts, user, 1)
    const token = await pendingToken(accounts, user.user.email)
    for (const steps of [1, 0, -1]) {
      const response = await verify(token, {
        challenge_id: await challenge(token),
        code: totpCode(user.secret, steps),
      })
      expect(envelope(response)).toEqual({
        code: 401,
        message: 'TOTP code already used',
        error: 'totp_code_used',
      })
    }
  })

  test('accepts codes of the adjacent steps and no others', async () => {
    const user = await totpUser(accounts)
    const token = await pendingToken(accounts, user.user.email)
    for (const steps of [-3, 3, 20]) {
      const response = await verify(token, {
        challenge_id: await challenge(token),
        code: totpCode(user.secret, steps),
      })
      expect(envelope(response)).toMatchObject({ code: 401, message: 'invalid TOTP code' })
    }
    const code = totpCode(user.secret).replace(/^(...)/, '$1 ')
    expect((await verify(token, { challenge_id: await challenge(token), code })).status).toBe(200)
  })

  test('accepts one code once for ten concurrent requests on two nodes', async () => {
    const user = await totpUser(accounts)
    const token = await pendingToken(accounts, user.user.email)
    const challenges = await Promise.all(Array.from({ length: 10 }, () => challenge(token)))
    const code = totpCode(user.secret)
    const responses = await Promise.all(
      challenges.map((challenge_id, index) =>
        verify(token, { challenge_id, code }, index % 2 ? other : accounts.app),
      ),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 401]))
    expect(
      await accounts.app.sql(
        "select count(*)::int from basalt.sessions where user_id = $1 and aal = 'aal2'",
        [user.user.id],
      ),
    ).toEqual([{ count: 1 }])
  })

  test('accepts a challenge once, of this user and in time', async () => {
    const user = await totpUser(accounts)
    const token = await pendingToken(accounts, user.user.email)
    const used = await challenge(token)
    expect((await verify(token, { challenge_id: used, code: totpCode(user.secret) })).status).toBe(200)
    expect(envelope(await verify(token, { challenge_id: used, code: totpCode(user.secret, 1) }))).toEqual({
      code: 409,
      message: 'challenge already verified',
      error: 'challenge_used',
    })
    const another = await totpUser(accounts)
    const theirs = await challenge(await pendingToken(accounts, another.user.email))
    const expired = await challenge(token)
    await accounts.app.sql('update basalt.mfa_challenges set expires_at = now() where id = $1', [expired])
    for (const challenge_id of [theirs, expired, '7b0b1c1e-0000-4000-8000-000000000000', 'nonsense']) {
      expect(envelope(await verify(token, { challenge_id, code: totpCode(user.secret, 1) }))).toEqual({
        code: 404,
        message: 'challenge not found or expired',
        error: 'challenge_not_found',
      })
    }
  })

  test.each([
    [{}, 400, 'challenge_id is required'],
    [{ challenge_id: 'x' }, 400, 'code is required'],
    [{ challenge_id: ['x'], code: '1' }, 400, expect.any(String)],
    [{ challenge_id: 'x', code: { $gt: '' } }, 400, expect.any(String)],
    [{ challenge_id: 'x', code: 'y'.repeat(100) }, 400, expect.any(String)],
  ])('rejects %j', async (body, status, message) => {
    const user = await totpUser(accounts)
    const response = await verify(await pendingToken(accounts, user.user.email), body)
    expect(response.status).toBe(status)
    expect(response.json.message).toEqual(message)
  })

  test('is locked for half an hour after fifteen failures on any node, and other responses do not count', async () => {
    const user = await totpUser(accounts)
    const token = await pendingToken(accounts, user.user.email)
    const challenge_id = await challenge(token)
    for (let count = 0; count < 20; count += 1) {
      expect((await verify(token, { challenge_id: 'unknown', code: '000000' })).status).toBe(404)
    }
    const wrong = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        verify(token, { challenge_id, code: '000000' }, index % 2 ? other : accounts.app),
      ),
    )
    expect(wrong.map(({ status }) => status).sort()).toEqual([...Array(15).fill(401), ...Array(5).fill(429)])
    const locked = await verify(token, { challenge_id, code: totpCode(user.secret) })
    expect(envelope(locked)).toEqual({
      code: 429,
      message: 'too many failed attempts, try again later',
      error: 'too_many_mfa_failures',
    })
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(1700)
    expect(Number(locked.headers.get('retry-after'))).toBeLessThanOrEqual(1800)
    expect((await accounts.post('mfa/backup/verify', { code: 'aaaaa-aaaaa' }, token)).status).toBe(429)
    await accounts.app.sql(
      "update basalt.attempts set window_ends_at = now() where key like 'mfa.failures:%'",
    )
    expect((await verify(token, { challenge_id, code: totpCode(user.secret) })).status).toBe(200)
  })

  test('clears failures after a success', async () => {
    const user = await totpUser(accounts)
    const token = await pendingToken(accounts, user.user.email)
    for (let count = 0; count < 14; count += 1) {
      await verify(token, { challenge_id: await challenge(token), code: '000000' })
    }
    expect(
      (await verify(token, { challenge_id: await challenge(token), code: totpCode(user.secret) })).status,
    ).toBe(200)
    expect(
      await accounts.app.sql('select 1 from basalt.attempts where key = $1', [
        `mfa.failures:${user.user.id}`,
      ]),
    ).toEqual([])
  })

  test('is void when the password is reset, the sessions are ended or the user is disabled in the meantime', async () => {
    for (const end of [
      (id: string) => `delete from basalt.pending_sign_ins where user_id = '${id}'`,
      (id: string) => `update basalt.users set disabled_at = now() where id = '${id}'`,
    ]) {
      const user = await totpUser(accounts)
      const token = await pendingToken(accounts, user.user.email)
      const challenge_id = await challenge(token)
      await accounts.app.sql(end(user.user.id))
      expect(envelope(await verify(token, { challenge_id, code: totpCode(user.secret) }))).toEqual({
        code: 401,
        message: 'no MFA challenge pending',
        error: 'no_pending_mfa',
      })
    }
  })

  test('waits for a deletion of the account, and then is void', async () => {
    const user = await totpUser(accounts)
    const token = await pendingToken(accounts, user.user.email)
    const challenge_id = await challenge(token)
    const holder = new pg.Client({ connectionString: accounts.app.database.url })
    await holder.connect()
    await holder.query('begin')
    await holder.query('select 1 from basalt.users where id = $1 for update', [user.user.id])
    const waiting = async () =>
      (
        await accounts.app.sql(
          "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
      ).length
    const path = `/api/admin/users/${user.user.id}`
    const deletion = accounts.app.request('DELETE', path, { token: await accounts.app.adminToken() })
    await expect.poll(waiting).toBe(1)
    const verification = verify(token, { challenge_id, code: totpCode(user.secret) })
    await expect.poll(waiting).toBe(2)
    await holder.query('commit')
    await holder.end()
    expect((await deletion).status).toBe(204)
    expect((await verification).status).toBe(404)
  })

  test('works after a replacement of the keys at rest', async () => {
    const [first, second] = ['1'.repeat(64), '2'.repeat(64)]
    await using before = await createMfaApp({
      inbox: accounts.inbox,
      config: { 'auth.encryption_key': first },
    })
    const user = await totpUser(before)
    const rotated = { 'auth.encryption_key': second, 'auth.previous_encryption_keys': first }
    await using during = await createMfaApp({
      inbox: accounts.inbox,
      database: before.app.database,
      config: rotated,
    })
    await aal2Session(during, user, 0)
    await using after = await createMfaApp({
      inbox: accounts.inbox,
      database: before.app.database,
      config: { 'auth.encryption_key': second },
    })
    await aal2Session(after, user, 1)
  })
})

describe('MFA pending token', () => {
  test('is accepted by the endpoints of the second factor only', async () => {
    const user = await totpUser(accounts)
    const token = await pendingToken(accounts, user.user.email)
    const required = { code: 401, message: 'MFA verification required', error: 'mfa_required' }
    for (const [method, path] of [
      ['GET', '/api/auth/me'],
      ['DELETE', '/api/auth/me'],
      ['GET', '/api/auth/sessions'],
      ['POST', '/api/auth/change-password'],
      ['POST', '/api/auth/link/email'],
      ['POST', '/api/auth/verify/resend'],
      ['POST', '/api/auth/magic-link/confirm'],
      ['POST', '/api/auth/mfa/totp/enroll'],
      ['POST', '/api/auth/mfa/backup/generate'],
      ['GET', '/api/auth/mfa/backup/count'],
      ['GET', '/api/schema'],
      ['GET', '/api/collections/none'],
      ['POST', '/api/batch'],
    ] as const) {
      const response = await accounts.app.request(method, path, {
        token,
        ...(method === 'POST' ? { body: {} } : {}),
      })
      expect([path, envelope(response)]).toEqual([path, required])
    }
    expect((await accounts.app.request('GET', '/api/admin/users', { token })).status).toBe(401)
    expect((await accounts.app.request('GET', '/api/auth/mfa/factors', { token })).status).toBe(200)
  })

  test('is required by those endpoints', async () => {
    const { token } = await accounts.register()
    const expired = { code: 401, message: 'no MFA challenge pending', error: 'no_pending_mfa' }
    for (const path of [
      'totp/challenge',
      'totp/verify',
      'email/challenge',
      'email/verify',
      'sms/challenge',
      'sms/verify',
      'backup/verify',
    ]) {
      for (const wrong of [undefined, 'nonsense', token, await accounts.app.adminToken()]) {
        expect(envelope(await accounts.post(`mfa/${path}`, {}, wrong))).toEqual(expired)
      }
    }
  })
})

describe('disabled MFA methods', () => {
  test('return 404, and one factor still does not sign the user in', async () => {
    const user = await totpUser(accounts)
    await using closed = await createMfaApp({
      inbox: accounts.inbox,
      database: accounts.app.database,
      config: {
        'auth.totp_enabled': 'false',
        'auth.email_mfa_enabled': 'false',
        'auth.sms_enabled': 'false',
      },
    })
    const token = await pendingToken(closed, user.user.email)
    for (const [path, name] of [
      ['totp', 'TOTP MFA'],
      ['email', 'Email MFA'],
      ['sms', 'SMS MFA'],
    ]) {
      const message = `${name} is not enabled`
      expect(envelope(await closed.post(`mfa/${path}/challenge`, {}, token))).toMatchObject({
        code: 404,
        message,
      })
      expect(envelope(await closed.post(`mfa/${path}/verify`, {}, token))).toMatchObject({
        code: 404,
        message,
      })
      expect(envelope(await closed.post(`mfa/${path}/enroll`, {}, user.token))).toMatchObject({
        code: 404,
        message,
      })
      expect(envelope(await closed.post(`mfa/${path}/enroll/confirm`, {}, user.token))).toMatchObject({
        code: 404,
        message,
      })
    }
    const admin = await closed.app.adminToken()
    const path = `/api/admin/users/${user.user.id}/factors`
    expect((await closed.app.request('DELETE', path, { token: admin })).status).toBe(204)
    expect(
      (await closed.post('login', { email: user.user.email, password: goodPassword })).json.token,
    ).toBeDefined()
  })
})
