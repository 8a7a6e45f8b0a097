import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AccountsApp } from '../../../../../test/accounts.ts'
import { aal2Session, createMfaApp, totpUser } from '../../../../../test/second-factors.ts'
import { envelope } from '../../../../../test/test-app.ts'

let accounts: AccountsApp
beforeAll(async () => {
  accounts = await createMfaApp()
})
afterAll(() => accounts[Symbol.asyncDispose]())

const insufficient = {
  code: 403,
  message: 'MFA verification is required for this action',
  error: 'insufficient_aal',
}

test('API keys › a session that has not passed the enrolled factor gets no key', async () => {
  const user = await totpUser(accounts)
  const { token } = await aal2Session(accounts, user)
  const made = await accounts.post('api-keys', { name: 'laptop' }, token)
  expect([made.status, Object.keys(made.json)]).toEqual([201, ['key', 'apiKey']])
  const path = `api-keys/${made.json.apiKey.id}`
  // The session from before the enrolment.
  expect(envelope(await accounts.post('api-keys', { name: 'other' }, user.token))).toEqual(insufficient)
  expect(envelope(await accounts.post(`${path}/rotate`, {}, user.token))).toEqual(insufficient)
  expect((await accounts.post(`${path}/rotate`, {}, token)).status).toBe(200)
  const listed = await accounts.app.request('GET', '/api/auth/api-keys', { token: user.token })
  expect(listed.json.map(({ name }: { name: string }) => name)).toEqual(['laptop'])
  // The session is enough to take access away.
  const revoked = await accounts.app.request('DELETE', `/api/auth/${path}`, { token: user.token })
  expect(revoked.status).toBe(204)
})
