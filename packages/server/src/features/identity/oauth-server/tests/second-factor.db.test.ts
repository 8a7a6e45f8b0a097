import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AccountsApp } from '../../../../../test/accounts.ts'
import {
  approveClient,
  authorizationRequest,
  createClient,
  createProof,
  redeem,
} from '../../../../../test/oauth.ts'
import { aal2Session, createMfaApp, totpUser } from '../../../../../test/second-factors.ts'
import { envelope } from '../../../../../test/test-app.ts'

let accounts: AccountsApp
beforeAll(async () => {
  accounts = await createMfaApp({ config: { 'auth.oauth_provider.enabled': 'true' } })
})
afterAll(() => accounts[Symbol.asyncDispose]())

test('oauth server › a session that has not passed the enrolled factor cannot consent', async () => {
  const { app } = accounts
  const user = await totpUser(accounts)
  const appId = (
    await app.request('POST', '/api/admin/apps', {
      token: await app.adminToken(),
      body: { name: 'App', ownerUserId: user.user.id },
    })
  ).json.id
  const client = await createClient(app, { appId })
  const proof = createProof()
  const { token } = await aal2Session(accounts, user)
  const insufficient = {
    code: 403,
    message: 'MFA verification is required for this action',
    error: 'insufficient_aal',
  }
  const parameters = authorizationRequest(client, proof)
  // The session from before the enrolment.
  const consent = await app.request('POST', '/api/auth/authorize/consent', {
    token: user.token,
    body: { decision: 'approve', ...parameters },
  })
  expect(envelope(consent)).toEqual(insufficient)
  const code = await approveClient(app, token, client, proof)
  expect((await redeem(app, client, proof, code)).status).toBe(200)
  const again = await app.request('GET', `/api/auth/authorize?${new URLSearchParams(parameters)}`, {
    token: user.token,
  })
  expect(envelope(again)).toEqual(insufficient)
})
