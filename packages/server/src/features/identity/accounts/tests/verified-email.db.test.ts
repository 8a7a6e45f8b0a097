import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AccountNodes,
  createAccountNodes,
  getMe,
  insertUser,
  mailedToken,
  waitForJobs,
  waitUntilDead,
} from '../../../../../test/account-nodes.ts'
import { claimsOf, goodPassword, newEmail, type SignedIn } from '../../../../../test/accounts.ts'
import { codeIn, tokenIn } from '../../../../../test/inbox.ts'
import { createPasskeysApp, passkeyUser, signInByEmail } from '../../../../../test/passkeys.ts'
import { envelope } from '../../../../../test/test-app.ts'

const notVerified = {
  code: 403,
  message: 'verify your email address before signing in; a link has been sent to it',
  error: 'email_not_verified',
}

let nodes: AccountNodes
beforeAll(async () => {
  nodes = await createAccountNodes({
    config: { 'auth.require_verified_email': 'true', 'auth.limits.mails_per_hour': '4' },
  })
})
afterAll(async () => nodes[Symbol.asyncDispose]())

const logIn = (email: string, password = goodPassword) => nodes.second.post('login', { email, password })

/** Opens the links that were mailed at registration and at the sign-in. Only the later one is valid. */
async function verifyByMail(email: string): Promise<void> {
  await waitForJobs(nodes)
  const mails = nodes.inbox.all.filter(({ to }) => to === email)
  const statuses: number[] = []
  for (const mail of mails) statuses.push((await nodes.first.post('verify', { token: tokenIn(mail) })).status)
  expect(statuses.sort()).toEqual([200, 400])
}

const unverified = { user: expect.objectContaining({ emailVerified: false }), message: expect.any(String) }

describe('accounts › require_verified_email', () => {
  test('register returns the user without tokens, and the mailed link opens the account', async () => {
    const email = newEmail()
    const registered = await nodes.first.post('register', { email, password: goodPassword })
    expect(registered.status).toBe(201)
    expect(registered.json).toEqual(unverified)
    expect(await nodes.sql('select 1 from basalt.sessions')).toEqual([])
    expect(envelope(await logIn(email))).toEqual(notVerified)
    await verifyByMail(email)
    const signedIn = await logIn(email)
    expect(signedIn.status).toBe(200)
    expect(claimsOf(signedIn.json.token).email_verified).toBe(true)
  })

  test('login with a wrong password or without an account reveals nothing', async () => {
    const { email } = await insertUser(nodes, { password: goodPassword })
    const wrong = await logIn(email, 'a wrong password')
    expect(wrong.status).toBe(401)
    expect((await logIn(newEmail())).text).toBe(wrong.text)
  })

  test('login mails the link again, within the limit of the address', async () => {
    const { email } = await insertUser(nodes, { password: goodPassword })
    for (let round = 0; round < 6; round += 1) expect(envelope(await logIn(email))).toEqual(notVerified)
    await waitForJobs(nodes)
    expect(nodes.inbox.all.filter(({ to }) => to === email)).toHaveLength(4)
  })

  test('login with a right password to an unverified account counts against no limit', async () => {
    const { email } = await insertUser(nodes, { password: goodPassword })
    for (let round = 0; round < 12; round += 1) expect((await logIn(email)).status).toBe(403)
  })

  test('login to a disabled account responds as for a wrong password', async () => {
    const { id, email } = await insertUser(nodes, { password: goodPassword })
    await nodes.sql('update basalt.users set disabled_at = now() where id = $1', [id])
    expect((await logIn(email)).status).toBe(401)
  })

  test('refresh is rejected until the address is verified, and keeps its refresh token', async () => {
    const { id, email } = await insertUser(nodes, { password: goodPassword, isVerified: true })
    const { refreshToken }: SignedIn = (await logIn(email)).json
    // The state from before the setting.
    await nodes.sql('alter table basalt.users disable trigger users_unverified')
    await nodes.sql('update basalt.users set email_verified_at = null where id = $1', [id])
    await nodes.sql('alter table basalt.users enable trigger users_unverified')
    for (const { post } of [...nodes.both, ...nodes.both]) {
      expect(envelope(await post('refresh', { refreshToken }))).toEqual(notVerified)
    }
    await nodes.sql('update basalt.users set email_verified_at = now() where id = $1', [id])
    const refreshed = await nodes.first.post('refresh', { refreshToken })
    expect(refreshed.status).toBe(200)
    expect(claimsOf(refreshed.json.token)).toMatchObject({ email_verified: true })
  })

  test('magic-link and password-reset verify the address', async () => {
    const linked = newEmail()
    const token = await mailedToken(nodes.first, 'magic-link', linked)
    expect((await nodes.second.post('magic-link/confirm', { token })).json.user.emailVerified).toBe(true)
    const { email } = await insertUser(nodes, { password: goodPassword })
    const reset = await mailedToken(nodes.first, 'password-reset', email)
    const password = 'juniper-lantern-77'
    expect((await nodes.second.post('password-reset/confirm', { token: reset, password })).status).toBe(200)
    expect((await logIn(email, password)).status).toBe(200)
  })

  test('users without an address sign in, and verify the one they link', async () => {
    const phone = '+12025550177'
    await nodes.first.post('sms', { phone })
    const code = codeIn(await nodes.inbox.take(phone))
    expect((await nodes.second.post('sms/confirm', { phone, code })).status).toBe(200)
    const guest: SignedIn = (await nodes.first.post('anonymous')).json
    expect((await nodes.second.post('refresh', { refreshToken: guest.refreshToken })).status).toBe(200)
    const email = newEmail()
    const linked = await nodes.first.post('link/email', { email, password: goodPassword }, guest.token)
    expect(linked.status).toBe(200)
    expect(linked.json).toEqual(unverified)
    expect(envelope(await logIn(email))).toEqual(notVerified)
    await verifyByMail(email)
    expect((await logIn(email)).json.user.id).toBe(guest.user.id)
  })

  test('webauthn login is rejected for an account with an unverified address', async () => {
    await using open = await createPasskeysApp()
    const { user, authenticator } = await passkeyUser(open)
    const config = { 'auth.require_verified_email': 'true' }
    await using strict = await createPasskeysApp({ database: open.app.database, config })
    expect(envelope(await signInByEmail(strict, user.email, authenticator))).toEqual(notVerified)
    await open.app.sql('update basalt.users set email_verified_at = now() where id = $1', [user.id])
    expect((await signInByEmail(strict, user.email, authenticator)).status).toBe(200)
  })
})

describe('accounts › email_verified of a token', () => {
  const emailVerified = async (token: string) => claimsOf(token).email_verified

  test('ends with the verification or the address, also by SQL', async () => {
    for (const change of ['email_verified_at = null', "email = 'moved' || email"]) {
      const { id, email } = await insertUser(nodes, { password: goodPassword, isVerified: true })
      const { token, refreshToken }: SignedIn = (await logIn(email)).json
      expect(await emailVerified(token)).toBe(true)
      expect((await getMe(nodes.first.app, token)).status).toBe(200)
      await nodes.sql(`update basalt.users set ${change} where id = $1`, [id])
      await waitUntilDead(nodes, token)
      expect((await nodes.first.post('refresh', { refreshToken })).status).toBe(401)
    }
  })
})
