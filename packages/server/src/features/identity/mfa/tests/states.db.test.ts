import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AccountsApp, claimsOf, goodPassword } from '../../../../../test/accounts.ts'
import {
  aal2Session,
  createMfaApp,
  pendingToken,
  sentCode,
  totpCode,
  totpUser,
} from '../../../../../test/second-factors.ts'

let accounts: AccountsApp
beforeAll(async () => {
  accounts = await createMfaApp()
})
afterAll(async () => accounts[Symbol.asyncDispose]())

const aalOf = (session: { token: string }) => claimsOf(session.token).aal
const login = async (email: string) => (await accounts.post('login', { email, password: goodPassword })).json

/** Creates a user with a factor of this kind, and returns the body that verifies it. */
async function verifySent(method: 'email' | 'sms') {
  const { token, user } = await accounts.register()
  await accounts.inbox.take(user.email)
  const to = method === 'email' ? user.email : '+12025558123'
  await accounts.post(`mfa/${method}/enroll`, { phone: to }, token)
  await accounts.post(`mfa/${method}/enroll/confirm`, { code: await sentCode(accounts, to) }, token)
  const pending = await pendingToken(accounts, user.email)
  const { challenge_id } = (await accounts.post(`mfa/${method}/challenge`, undefined, pending)).json
  const code = await sentCode(accounts, to)
  return (await accounts.post(`mfa/${method}/verify`, { challenge_id, code }, pending)).json
}

/** Transitions of the diagram. Each one is performed and returns its final state. */
const transitions: Readonly<Record<string, () => Promise<unknown>>> = {
  '[*] --> aal1: sign in without a factor': async () =>
    aalOf(await login((await accounts.register()).user.email)),
  '[*] --> pending: sign in with a factor': async () => {
    const response = await login((await totpUser(accounts)).user.email)
    return response.mfa_pending === true && response.token === undefined ? 'pending' : response
  },
  'pending --> aal2: verify totp': async () => aalOf(await aal2Session(accounts, await totpUser(accounts))),
  'pending --> aal2: verify email': async () => aalOf(await verifySent('email')),
  'pending --> aal2: verify sms': async () => aalOf(await verifySent('sms')),
  'pending --> aal2: verify backup_code': async () => {
    const user = await totpUser(accounts)
    const { token } = await aal2Session(accounts, user)
    const { codes } = (await accounts.post('mfa/backup/generate', undefined, token)).json
    const pending = await pendingToken(accounts, user.user.email)
    return aalOf((await accounts.post('mfa/backup/verify', { code: codes[0] }, pending)).json)
  },
  'pending --> [*]: five minutes': async () => {
    const user = await totpUser(accounts)
    const pending = await pendingToken(accounts, user.user.email)
    const { challenge_id } = (await accounts.post('mfa/totp/challenge', undefined, pending)).json
    await accounts.app.sql('update basalt.pending_sign_ins set expires_at = now()')
    const late = await accounts.post(
      'mfa/totp/verify',
      { challenge_id, code: totpCode(user.secret) },
      pending,
    )
    return late.status === 401 ? '[*]' : late.text
  },
  'aal1 --> aal1: refresh': async () => {
    const { refreshToken } = await totpUser(accounts)
    return aalOf((await accounts.post('refresh', { refreshToken })).json)
  },
  'aal2 --> aal2: refresh': async () => {
    const { refreshToken } = await aal2Session(accounts, await totpUser(accounts))
    return aalOf((await accounts.post('refresh', { refreshToken })).json)
  },
  'aal1 --> aal1: confirm the first factor': async () => {
    const { token, refreshToken } = await totpUser(accounts)
    expect((await accounts.app.request('GET', '/api/auth/me', { token })).status).toBe(200)
    return aalOf((await accounts.post('refresh', { refreshToken })).json)
  },
  'aal2 --> aal2: confirm a further factor': async () => {
    const user = await totpUser(accounts)
    await accounts.inbox.take(user.user.email)
    const session = await aal2Session(accounts, user)
    await accounts.post('mfa/email/enroll', undefined, session.token)
    const code = await sentCode(accounts, user.user.email)
    expect((await accounts.post('mfa/email/enroll/confirm', { code }, session.token)).status).toBe(200)
    return aalOf((await accounts.post('refresh', { refreshToken: session.refreshToken })).json)
  },
}

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const drawn = [...readme.matchAll(/^ {2}(\S+ --> \S+: .+)$/gm)].map(([, edge = '']) => edge)

test('MFA states › the diagram draws every transition and no other', () => {
  expect(drawn.toSorted()).toEqual(Object.keys(transitions).toSorted())
})

test.each(drawn)('MFA states › %s', async (edge) => {
  const end = /--> (\S+):/.exec(edge)?.[1]
  expect(await transitions[edge]?.()).toBe(end)
})
