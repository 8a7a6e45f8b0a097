import { type AccountsApp, newEmail, type SignedIn } from './accounts.ts'
import {
  type AssertionFlaws,
  type Authenticator,
  type AuthenticatorOptions,
  type CreationFlaws,
  createAuthenticator,
} from './authenticator.ts'
import { createMfaApp, pendingToken } from './second-factors.ts'
import type { TestAppOptions, TestResponse } from './test-app.ts'

/** Address of every node, as behind a load balancer. */
export const publicOrigin = 'https://app.example.com'

export async function createPasskeysApp(options: TestAppOptions = {}): Promise<AccountsApp> {
  return await createMfaApp({
    ...options,
    config: { 'server.public_base_url': publicOrigin, 'logging.level': 'info', ...options.config },
  })
}

export function newAuthenticator(options: Partial<AuthenticatorOptions> = {}): Authenticator {
  return createAuthenticator({ origin: publicOrigin, ...options })
}

export interface PasskeyUser extends SignedIn {
  readonly authenticator: Authenticator
  /** Id of the passkey created first. */
  readonly credentialId: string
}

/** Creates a user with one passkey, signed in by password before it was added. */
export async function passkeyUser(
  accounts: AccountsApp,
  authenticator: Authenticator = newAuthenticator(),
  email: string = newEmail(),
): Promise<PasskeyUser> {
  const signedIn = await accounts.register(email)
  const response = await enroll(accounts, signedIn.token, authenticator)
  if (response.status !== 200) throw new Error(`enrol: ${response.text}`)
  const credentialId = authenticator.passkeys.at(-1)?.id.toString('base64url') ?? ''
  return { ...signedIn, authenticator, credentialId }
}

/** Runs both steps of an enrolment and returns the response of the second one. */
export async function enroll(
  { post }: AccountsApp,
  token: string,
  authenticator: Authenticator,
  flaws?: CreationFlaws,
  displayName = 'laptop',
): Promise<TestResponse> {
  const begun = await post('mfa/webauthn/enroll', undefined, token)
  if (begun.status !== 200) throw new Error(`enrol: ${begun.text}`)
  const attestation_response = authenticator.create(begun.json, flaws)
  return await post('mfa/webauthn/enroll/confirm', { display_name: displayName, attestation_response }, token)
}

/** Runs both steps of a sign-in by email and passkey. */
export async function signInByEmail(
  { post }: AccountsApp,
  email: string,
  authenticator: Authenticator,
  flaws?: AssertionFlaws,
): Promise<TestResponse> {
  const { challenge_id, options } = (await post('webauthn/login/begin', { email })).json
  const assertion_response = authenticator.get(options, flaws)
  return await post('webauthn/login/finish', { challenge_id, assertion_response })
}

/** Runs both steps of a sign-in in which the passkey identifies the user. */
export async function signInDiscoverably(
  { post }: AccountsApp,
  authenticator: Authenticator,
  flaws?: AssertionFlaws,
): Promise<TestResponse> {
  const { challenge_id, options } = (await post('webauthn/login/discover/begin')).json
  const assertion_response = authenticator.get(options, flaws)
  return await post('webauthn/login/discover/finish', { challenge_id, assertion_response })
}

/** Signs in by password and passkey and returns the last response. */
export async function passSecondFactor(
  accounts: AccountsApp,
  email: string,
  authenticator: Authenticator,
  flaws?: AssertionFlaws,
): Promise<TestResponse> {
  const token = await pendingToken(accounts, email)
  const { challenge_id, options } = (await accounts.post('mfa/webauthn/challenge', undefined, token)).json
  const assertion_response = authenticator.get(options, flaws)
  return await accounts.post('mfa/webauthn/verify', { challenge_id, assertion_response }, token)
}

/** Returns the reason in the server's log for the last rejected passkey. */
export function lastReason({ app }: AccountsApp): string {
  const line = app.log.findLast((each) => each.includes('"passkey refused"'))
  return line === undefined ? '' : JSON.parse(line).reason
}
