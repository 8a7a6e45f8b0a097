import { expect } from 'vitest'
import { administratorPassword } from './administrators.ts'
import { type Authenticator, createAuthenticator } from './authenticator.ts'
import { totpCode } from './second-factors.ts'
import type { TestApp, TestResponse } from './test-app.ts'

const account = '/api/admin/account'

/** Authenticator app of an administrator, and the backup codes of its enrolment. */
export interface EnrolledApp {
  readonly secret: string
  readonly backupCodes: string[]
}

/** Enrolls an authenticator app. The code of the current step remains unused. */
export async function enrollApp(app: TestApp, token: string): Promise<EnrolledApp> {
  const begun = await app.request('POST', `${account}/factors/totp`, { token })
  expect([begun.status, begun.json]).toEqual([
    200,
    { uri: expect.stringMatching(/^otpauth:\/\/totp\//), secret: expect.stringMatching(/^[A-Z2-7]{32}$/) },
  ])
  const { secret } = begun.json
  const confirm = () =>
    app.request('POST', `${account}/factors/totp/confirm`, { token, body: { code: totpCode(secret, -1) } })
  let confirmed = await confirm()
  // The previous step is within the window, unless the current one has ended meanwhile.
  if (confirmed.status === 401) confirmed = await confirm()
  expect(confirmed.status).toBe(200)
  return { secret, backupCodes: confirmed.json.backupCodes }
}

/** Creates an authenticator whose browser shows the dashboard. */
export function dashboardAuthenticator(app: TestApp, verifiesUser = true): Authenticator {
  const origin = new URL(app.url)
  origin.hostname = 'localhost'
  return createAuthenticator({ origin: origin.origin, verifiesUser })
}

/** Adds a passkey and returns the response. */
export async function addPasskey(
  app: TestApp,
  token: string,
  authenticator: Authenticator,
): Promise<TestResponse> {
  const { json } = await app.request('POST', `${account}/passkeys`, { token })
  const body = { display_name: 'laptop', attestation_response: authenticator.create(json) }
  return await app.request('POST', `${account}/passkeys/confirm`, { token, body })
}

/** Requests a challenge and returns the body of a sign-in with a passkey. */
export async function passkeyBody(app: TestApp, authenticator: Authenticator, mfa_token?: string) {
  const begun = await app.request('POST', '/api/admin/auth/passkey', { body: { mfa_token } })
  expect(begun.status).toBe(200)
  const { challenge_id, options } = begun.json
  return { challenge_id, assertion_response: authenticator.get(options), mfa_token }
}

/** Signs in with the password. @returns the token of the sign-in that waits for its second factor */
export async function pendingAdministrator(app: TestApp, email: string): Promise<string> {
  const response = await app.request('POST', '/api/admin/auth', {
    body: { email, password: administratorPassword },
  })
  expect([response.status, response.json]).toEqual([
    200,
    { mfa_pending: true, mfa_token: expect.stringMatching(/^basalt_pending_\w{49}$/) },
  ])
  return response.json.mfa_token
}
