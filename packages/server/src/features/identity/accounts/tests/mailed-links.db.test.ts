import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AccountsApp,
  claimsOf,
  createAccountsApp,
  goodPassword,
  mailedLinkToken,
  newEmail,
} from '../../../../../test/accounts.ts'
import { tokenIn } from '../../../../../test/inbox.ts'
import { envelope } from '../../../../../test/test-app.ts'

let accounts: AccountsApp
beforeAll(async () => {
  accounts = await createAccountsApp()
})
afterAll(async () => accounts[Symbol.asyncDispose]())

const newPassword = 'marmalade-lantern-7'
const requiredField = (field: string) => ({
  code: 400,
  message: `${field} is required`,
  error: 'field_required',
})
const expire = (email: string) =>
  accounts.app.sql('update basalt.mailed_tokens set expires_at = now() where email = $1', [email])
const me = async (token: string) => (await accounts.app.request('GET', '/api/auth/me', { token })).status
/** Waits until no mail is in flight. */
const waitForMails = () =>
  expect
    .poll(() => accounts.app.sql("select 1 from basalt.jobs where state in ('queued', 'running')"))
    .toEqual([])

describe('POST /api/auth/verify', () => {
  test('accepts only the latest link after the mail was sent again', async () => {
    const email = newEmail()
    const { token } = await accounts.register(email)
    const first = tokenIn(await accounts.inbox.take(email))
    const again = await accounts.post('verify/resend', undefined, token)
    expect([again.status, again.json]).toEqual([200, { message: 'verification email sent' }])
    const second = tokenIn(await accounts.inbox.take(email))
    expect((await accounts.post('verify', { token: first })).status).toBe(400)
    expect((await accounts.post('verify', { token: second })).status).toBe(200)
    // Once the address is verified, the response is the same and no mail follows.
    expect((await accounts.post('verify/resend', undefined, token)).json).toEqual({
      message: 'verification email sent',
    })
    await waitForMails()
    expect(accounts.inbox.all.filter(({ to }) => to === email)).toHaveLength(2)
  })

  test('rejects an expired link', async () => {
    const email = newEmail()
    await accounts.register(email)
    const token = tokenIn(await accounts.inbox.take(email))
    await expire(email)
    expect(envelope(await accounts.post('verify', { token }))).toEqual({
      code: 400,
      message: 'invalid or expired verification token',
      error: 'invalid_verification_token',
    })
  })

  test('requires a token, and resend requires a signed-in user', async () => {
    expect(envelope(await accounts.post('verify', {}))).toEqual(requiredField('token'))
    expect((await accounts.post('verify', { token: ['x'] })).status).toBe(400)
    expect((await accounts.post('verify/resend')).status).toBe(401)
  })
})

describe('POST /api/auth/password-reset', () => {
  const linkSent = { message: 'if that email exists, a reset link has been sent' }

  test('sets a password once, verifies the address, and ends every session', async () => {
    const email = newEmail()
    const { token: accessToken, refreshToken } = await accounts.register(email)
    await accounts.inbox.take(email)
    const response = await accounts.post('password-reset', { email: email.toUpperCase() })
    expect([response.status, response.json]).toEqual([200, linkSent])
    const mail = await accounts.inbox.take(email)
    expect(mail.text).toContain(`${accounts.app.url}/auth/reset-password?token=basalt_reset_`)
    const token = tokenIn(mail)
    const confirmed = await accounts.post('password-reset/confirm', { token, password: newPassword })
    expect([confirmed.status, confirmed.json]).toEqual([200, { message: 'password has been reset' }])
    await expect.poll(() => me(accessToken)).toBe(401)
    expect((await accounts.post('refresh', { refreshToken })).status).toBe(401)
    expect((await accounts.post('login', { email, password: goodPassword })).status).toBe(401)
    const login = await accounts.post('login', { email, password: newPassword })
    expect(login.json.user.emailVerified).toBe(true)
    expect(
      envelope(await accounts.post('password-reset/confirm', { token, password: goodPassword })),
    ).toEqual({
      code: 400,
      message: 'invalid or expired reset token',
      error: 'invalid_reset_token',
    })
  })

  test('keeps the token when the password is rejected', async () => {
    const email = newEmail()
    await accounts.register(email)
    await accounts.inbox.take(email)
    await accounts.post('password-reset', { email })
    const token = tokenIn(await accounts.inbox.take(email))
    expect((await accounts.post('password-reset/confirm', { token, password: 'short' })).status).toBe(400)
    expect((await accounts.post('password-reset/confirm', { token, password: newPassword })).status).toBe(200)
  })

  test('sends nothing to an unknown address, with the same response', async () => {
    const email = newEmail()
    const response = await accounts.post('password-reset', { email })
    expect([response.status, response.json]).toEqual([200, linkSent])
    expect((await accounts.post('password-reset', { email: 'nobody' })).json).toEqual(linkSent)
    await waitForMails()
    expect(accounts.inbox.all.filter(({ to }) => to === email)).toEqual([])
  })

  test('rejects an expired link and an earlier one', async () => {
    const email = newEmail()
    await accounts.register(email)
    await accounts.inbox.take(email)
    await accounts.post('password-reset', { email })
    const first = tokenIn(await accounts.inbox.take(email))
    await accounts.post('password-reset', { email })
    const second = tokenIn(await accounts.inbox.take(email))
    expect(
      (await accounts.post('password-reset/confirm', { token: first, password: newPassword })).status,
    ).toBe(400)
    await expire(email)
    expect(
      (await accounts.post('password-reset/confirm', { token: second, password: newPassword })).status,
    ).toBe(400)
  })

  test('requires its fields', async () => {
    expect(envelope(await accounts.post('password-reset', {}))).toEqual(requiredField('email'))
    expect(envelope(await accounts.post('password-reset/confirm', {}))).toEqual(requiredField('token'))
    expect(envelope(await accounts.post('password-reset/confirm', { token: 'x' }))).toEqual(
      requiredField('password'),
    )
  })

  test('sends no more mails than one address may get, without revealing it', async () => {
    const email = newEmail()
    await accounts.register(email)
    await accounts.inbox.take(email)
    for (let count = 0; count < 13; count += 1) {
      expect((await accounts.post('password-reset', { email })).json).toEqual(linkSent)
    }
    await waitForMails()
    expect(accounts.inbox.all.filter(({ to }) => to === email)).toHaveLength(1 + 10)
  })
})

describe('POST /api/auth/magic-link', () => {
  const linkSent = { message: 'if valid, a login link has been sent' }

  test('creates the account and signs in once', async () => {
    const email = newEmail()
    const response = await accounts.post('magic-link', { email })
    expect([response.status, response.json]).toEqual([200, linkSent])
    const mail = await accounts.inbox.take(email)
    expect(mail.text).toContain(`${accounts.app.url}/auth/magic-link?token=basalt_link_`)
    const token = tokenIn(mail)
    const confirmed = await accounts.post('magic-link/confirm', { token })
    expect(confirmed.status).toBe(200)
    expect(confirmed.json).toEqual({
      token: expect.any(String),
      refreshToken: expect.any(String),
      user: expect.objectContaining({ email, emailVerified: true, is_anonymous: false }),
    })
    expect(claimsOf(confirmed.json.token)).toMatchObject({ aal: 'aal1', amr: ['otp'], email })
    expect(envelope(await accounts.post('magic-link/confirm', { token }))).toEqual({
      code: 400,
      message: 'invalid or expired magic link token',
      error: 'invalid_magic_link_token',
    })
  })

  test('signs in to an existing account', async () => {
    const email = newEmail()
    const { user } = await accounts.register(email)
    await accounts.app.sql('update basalt.users set email_verified_at = now() where id = $1', [user.id])
    const { json } = await accounts.post('magic-link/confirm', {
      token: await mailedLinkToken(accounts, email),
    })
    expect(json.user.id).toBe(user.id)
    expect((await accounts.post('login', { email, password: goodPassword })).status).toBe(200)
  })

  test('turns an anonymous caller into the account', async () => {
    const anonymous = (await accounts.post('anonymous')).json
    const email = newEmail()
    const token = await mailedLinkToken(accounts, email)
    const { status, json } = await accounts.post('magic-link/confirm', { token }, anonymous.token)
    expect(status).toBe(200)
    expect(json.user).toMatchObject({
      id: anonymous.user.id,
      email,
      emailVerified: true,
      is_anonymous: false,
      linked_at: expect.stringMatching(/Z$/),
    })
    expect(claimsOf(json.token)).toMatchObject({ is_anonymous: false, email, amr: ['otp'] })
    expect(
      await accounts.app.sql('select count(*)::int from basalt.users where email = $1', [email]),
    ).toEqual([{ count: 1 }])
  })

  test('does not turn an anonymous caller into another user, and keeps the token', async () => {
    const email = newEmail()
    const { user } = await accounts.register(email)
    const anonymous = (await accounts.post('anonymous')).json
    const token = await mailedLinkToken(accounts, email)
    expect(envelope(await accounts.post('magic-link/confirm', { token }, anonymous.token))).toEqual({
      code: 409,
      message: 'email already belongs to another account',
      error: 'email_of_another',
    })
    expect((await accounts.post('magic-link/confirm', { token })).json.user.id).toBe(user.id)
  })

  test('rejects an invalid token of the caller without consuming the link', async () => {
    const email = newEmail()
    const token = await mailedLinkToken(accounts, email)
    expect((await accounts.post('magic-link/confirm', { token }, 'nonsense')).status).toBe(401)
    expect((await accounts.post('magic-link/confirm', { token })).status).toBe(200)
  })

  test('rejects an expired link, and one of a disabled user', async () => {
    const email = newEmail()
    const token = await mailedLinkToken(accounts, email)
    await expire(email)
    expect((await accounts.post('magic-link/confirm', { token })).status).toBe(400)
    const { user } = await accounts.register()
    await accounts.inbox.take(user.email)
    const usable = await mailedLinkToken(accounts, user.email)
    await accounts.app.sql('update basalt.users set disabled_at = now() where id = $1', [user.id])
    expect((await accounts.post('magic-link/confirm', { token: usable })).status).toBe(400)
    await accounts.post('magic-link', { email: user.email })
    await waitForMails()
    expect(accounts.inbox.all.filter(({ to }) => to === user.email)).toHaveLength(2)
  })

  test('requires its fields', async () => {
    expect(envelope(await accounts.post('magic-link', { email: ' ' }))).toEqual(requiredField('email'))
    expect((await accounts.post('magic-link', { email: 'nobody' })).json).toEqual(linkSent)
    expect(envelope(await accounts.post('magic-link/confirm', {}))).toEqual(requiredField('token'))
  })
})

describe('pages of mailed links', () => {
  test.each(['verify', 'magic-link', 'reset-password'])(
    '/auth/%s is small, has a strict policy and is not cached',
    async (name) => {
      const response = await accounts.app.request('GET', `/auth/${name}?token=basalt_x`)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.headers.get('referrer-policy')).toBe('no-referrer')
      expect(response.headers.get('content-security-policy')).toMatch(
        /default-src 'none'.*frame-ancestors 'none'/,
      )
      // The form carries the token, and the page shows it nowhere.
      const visible = response.text.replace(/<input type="hidden"[^>]*>/, '')
      expect(visible).not.toMatch(/basalt_x|https?:\/\//)
    },
  )

  test('lead to the site when one is configured', async () => {
    await using site = await createAccountsApp({
      inbox: accounts.inbox,
      config: { 'auth.site_url': 'https://shop.example/' },
    })
    const email = newEmail()
    await site.post('magic-link', { email })
    expect((await accounts.inbox.take(email)).text).toContain('https://shop.example/auth/magic-link?token=')
  })
})
