import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AccountsApp,
  claimsOf,
  createAccountsApp,
  goodPassword,
  newEmail,
} from '../../../../../test/accounts.ts'
import { codeIn } from '../../../../../test/inbox.ts'
import { envelope } from '../../../../../test/test-app.ts'

let accounts: AccountsApp
beforeAll(async () => {
  accounts = await createAccountsApp({ config: { 'auth.sms_test_phone_numbers': '+15005550006=123456' } })
})
afterAll(async () => accounts[Symbol.asyncDispose]())

const invalidCode = { code: 401, message: 'invalid or expired SMS code', error: 'invalid_sms_code' }
const codeSent = { message: 'if valid, a verification code has been sent' }
let count = 0
/** Returns an unused number. */
function newPhone(): string {
  count += 1
  return `+1202555${String(count).padStart(4, '0')}`
}
const sent = (phone: string) => accounts.inbox.all.filter(({ to }) => to === phone)

async function requestCode(phone: string): Promise<string> {
  const response = await accounts.post('sms', { phone })
  expect([response.status, response.json]).toEqual([200, codeSent])
  return codeIn(await accounts.inbox.take(phone))
}
const wrong = (code: string) => code.replace(/.$/, (digit) => String((Number(digit) + 1) % 10))

describe('POST /api/auth/sms', () => {
  test('creates the account, then signs in to it', async () => {
    const phone = newPhone()
    const first = await accounts.post('sms/confirm', { phone, code: await requestCode(phone) })
    expect(first.status).toBe(200)
    expect(first.json).toEqual({
      token: expect.any(String),
      refreshToken: expect.any(String),
      user: {
        id: expect.any(String),
        email: '',
        emailVerified: false,
        phone,
        is_anonymous: false,
        createdAt: expect.stringMatching(/Z$/),
        updatedAt: expect.stringMatching(/Z$/),
      },
    })
    expect(claimsOf(first.json.token)).toMatchObject({ email: '', aal: 'aal1', amr: ['sms'] })
    const spelled = phone.replace(/^\+1(\d{3})(\d{3})/, '+1 ($1) $2-')
    const second = await accounts.post('sms/confirm', { phone: spelled, code: await requestCode(phone) })
    expect(second.json.user.id).toBe(first.json.user.id)
  })

  test('accepts the latest code once, and not after three wrong ones', async () => {
    const phone = newPhone()
    const first = await requestCode(phone)
    const second = await requestCode(phone)
    if (first !== second)
      expect(envelope(await accounts.post('sms/confirm', { phone, code: first }))).toEqual(invalidCode)
    expect((await accounts.post('sms/confirm', { phone, code: second })).status).toBe(200)
    expect(envelope(await accounts.post('sms/confirm', { phone, code: second }))).toEqual(invalidCode)
    const third = await requestCode(phone)
    for (let miss = 0; miss < 3; miss += 1) {
      expect(envelope(await accounts.post('sms/confirm', { phone, code: wrong(third) }))).toEqual(invalidCode)
    }
    expect(envelope(await accounts.post('sms/confirm', { phone, code: third }))).toEqual(invalidCode)
  })

  test('rejects an expired code and one for another number', async () => {
    const [phone, another] = [newPhone(), newPhone()]
    const code = await requestCode(phone)
    await requestCode(another)
    await accounts.app.sql(
      'update basalt.phone_codes set code_hash = (select code_hash from basalt.phone_codes where phone = $1) where phone = $2',
      [phone, another],
    )
    expect(envelope(await accounts.post('sms/confirm', { phone: another, code }))).toEqual(invalidCode)
    await accounts.app.sql('update basalt.phone_codes set expires_at = now() where phone = $1', [phone])
    expect(envelope(await accounts.post('sms/confirm', { phone, code }))).toEqual(invalidCode)
  })

  test('responds alike to every number and sends only where allowed', async () => {
    for (const phone of [
      '123',
      'nonsense',
      '+1',
      '+49 30 901820',
      '+999999999999',
      "'; drop table basalt.users; --",
    ]) {
      const response = await accounts.post('sms', { phone })
      expect([response.status, response.json]).toEqual([200, codeSent])
      expect(envelope(await accounts.post('sms/confirm', { phone, code: '123456' }))).toEqual(invalidCode)
    }
    expect(await accounts.app.sql("select 1 from basalt.jobs where payload->>'phone' like '+49%'")).toEqual(
      [],
    )
    const reason = 'text message not sent: auth.sms_allowed_countries lacks the country'
    const logged = accounts.app.log.filter((line) => line.includes(reason))
    expect(logged.map((line) => JSON.parse(line))).toMatchObject([{ country: 'DE' }])
    expect(logged.join()).not.toContain('901820')
  })

  test('sends five messages an hour to one number', async () => {
    const phone = newPhone()
    for (let times = 0; times < 5; times += 1) await requestCode(phone)
    expect((await accounts.post('sms', { phone })).json).toEqual(codeSent)
    await expect
      .poll(() => accounts.app.sql("select 1 from basalt.jobs where state in ('queued', 'running')"))
      .toEqual([])
    expect(sent(phone)).toHaveLength(5)
  })

  test('has a fixed code for a test number and sends nothing', async () => {
    const phone = '+15005550006'
    expect((await accounts.post('sms', { phone })).json).toEqual(codeSent)
    expect(envelope(await accounts.post('sms/confirm', { phone, code: '654321' }))).toEqual(invalidCode)
    expect((await accounts.post('sms/confirm', { phone, code: '123456' })).json.user.phone).toBe(phone)
    expect(sent(phone)).toEqual([])
    // Without a request there is no code.
    expect(envelope(await accounts.post('sms/confirm', { phone, code: '123456' }))).toEqual(invalidCode)
  })

  test('stores codes only as hashes', async () => {
    const phone = newPhone()
    const code = await requestCode(phone)
    const dump = JSON.stringify([
      await accounts.app.sql("select encode(code_hash, 'hex') as hash from basalt.phone_codes"),
      await accounts.app.sql('select payload, last_error from basalt.jobs'),
    ])
    expect(dump).not.toContain(code)
  })

  test.each([
    ['sms', {}, 'phone is required'],
    ['sms/confirm', {}, 'phone is required'],
    ['sms/confirm', { phone: '+12025550100' }, 'code is required'],
  ])('%s requires its fields: %j', async (path, body, message) => {
    expect(envelope(await accounts.post(path, body))).toEqual({ code: 400, message, error: 'field_required' })
  })
})

describe('POST /api/auth/anonymous', () => {
  test('creates a user without credentials', async () => {
    const response = await accounts.post('anonymous')
    expect(response.status).toBe(201)
    expect(response.json.user).toEqual({
      id: expect.any(String),
      email: '',
      emailVerified: false,
      is_anonymous: true,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect(claimsOf(response.json.token)).toMatchObject({
      is_anonymous: true,
      amr: ['anonymous'],
      aal: 'aal1',
      email: '',
    })
    expect((await accounts.post('anonymous', {})).status).toBe(201)
    expect(
      (
        await accounts.app.request('POST', '/api/auth/anonymous', {
          headers: { 'content-type': 'application/json' },
        })
      ).status,
    ).toBe(201)
  })

  test('is linked to an address and a password under the same id', async () => {
    const { token, refreshToken, user } = (await accounts.post('anonymous')).json
    const email = newEmail()
    const linked = await accounts.post('link/email', { email, password: goodPassword }, token)
    expect(linked.status).toBe(200)
    expect(linked.json.user).toMatchObject({
      id: user.id,
      email,
      emailVerified: false,
      is_anonymous: false,
      linked_at: expect.stringMatching(/Z$/),
    })
    expect(claimsOf(linked.json.token)).toMatchObject({ is_anonymous: false, email, amr: ['password'] })
    expect((await accounts.inbox.take(email)).text).toContain('/auth/verify?token=')
    expect((await accounts.post('login', { email, password: goodPassword })).json.user.id).toBe(user.id)
    // The earlier session stays, and its tokens show the new state from its next refresh on.
    const refreshed = await accounts.post('refresh', { refreshToken })
    expect(claimsOf(refreshed.json.token)).toMatchObject({ is_anonymous: false, email })
    expect(
      envelope(await accounts.post('link/email', { email: newEmail(), password: goodPassword }, token)),
    ).toEqual({
      code: 403,
      message: 'account is not anonymous or already linked',
      error: 'already_linked',
    })
  })

  test('is not linked to an existing address', async () => {
    const { user } = await accounts.register()
    const anonymous = (await accounts.post('anonymous')).json
    expect(
      envelope(
        await accounts.post('link/email', { email: user.email, password: goodPassword }, anonymous.token),
      ),
    ).toEqual({
      code: 409,
      message: 'email already belongs to another account',
      error: 'email_of_another',
    })
    const claims = await accounts.app.request('GET', '/api/auth/me', { token: anonymous.token })
    expect(claims.json).toMatchObject({ email: '', is_anonymous: true })
  })

  test('POST link/email rejects other users and requires its fields', async () => {
    const { token } = await accounts.register()
    expect(
      envelope(await accounts.post('link/email', { email: newEmail(), password: goodPassword }, token)),
    ).toEqual({
      code: 403,
      message: 'only anonymous accounts can link credentials',
      error: 'only_anonymous',
    })
    const anonymous = (await accounts.post('anonymous')).json
    expect((await accounts.post('link/email', {}, anonymous.token)).json.message).toBe('email is required')
    expect((await accounts.post('link/email', { email: newEmail() }, anonymous.token)).json.message).toBe(
      'password is required',
    )
    expect((await accounts.post('link/email', { email: newEmail(), password: goodPassword })).status).toBe(
      401,
    )
  })

  test('has no password to change', async () => {
    const { token } = (await accounts.post('anonymous')).json
    for (const body of [{ newPassword: goodPassword }, {}]) {
      expect(envelope(await accounts.post('change-password', body, token))).toEqual({
        code: 403,
        message: 'link an email before setting a password',
        error: 'email_required',
      })
    }
  })
})

describe('disabled sign-in methods', () => {
  test.each([
    [
      'magic-link',
      { email: 'a@example.com' },
      'magic link authentication is not enabled',
      'magic_link_disabled',
    ],
    ['magic-link', {}, 'magic link authentication is not enabled', 'magic_link_disabled'],
    ['magic-link/confirm', {}, 'magic link authentication is not enabled', 'magic_link_disabled'],
    ['magic-link/confirm', { token: 'x' }, 'magic link authentication is not enabled', 'magic_link_disabled'],
    ['sms', { phone: '+12025550100' }, 'SMS authentication is not enabled', 'sms_disabled'],
    [
      'sms/confirm',
      { phone: '+12025550100', code: '1' },
      'SMS authentication is not enabled',
      'sms_disabled',
    ],
    ['sms', {}, 'SMS authentication is not enabled', 'sms_disabled'],
    ['sms/confirm', {}, 'SMS authentication is not enabled', 'sms_disabled'],
    ['anonymous', undefined, 'anonymous auth is not enabled', 'anonymous_disabled'],
  ])('%s returns 404', async (path, body, message, error) => {
    await using closed = await createAccountsApp({
      inbox: accounts.inbox,
      config: {
        'auth.magic_link_enabled': 'false',
        'auth.sms_enabled': 'false',
        'auth.anonymous_auth_enabled': 'false',
      },
    })
    expect(envelope(await closed.post(path, body))).toEqual({ code: 404, message, error })
  })
})
