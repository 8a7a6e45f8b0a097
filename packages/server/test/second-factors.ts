import { Secret, TOTP } from 'otpauth'
import { type AccountsApp, createAccountsApp, goodPassword, newEmail, type SignedIn } from './accounts.ts'
import { codeIn } from './inbox.ts'
import type { TestAppOptions, TestResponse } from './test-app.ts'

export const everySecondFactor = {
  'auth.totp_enabled': 'true',
  'auth.email_mfa_enabled': 'true',
  'auth.webauthn_enabled': 'true',
}

export async function createMfaApp(options: TestAppOptions & Pick<Partial<AccountsApp>, 'inbox'> = {}) {
  return await createAccountsApp({ ...options, config: { ...everySecondFactor, ...options.config } })
}

/** Returns the code of an authenticator app, `steps` of 30 seconds from now. */
export function totpCode(secret: string, steps = 0): string {
  const totp = new TOTP({ secret: Secret.fromBase32(secret) })
  return totp.generate({ timestamp: Date.now() + steps * 30_000 })
}

export interface TotpUser extends SignedIn {
  readonly secret: string
  readonly factorId: string
}

/** Request of a caller to a path of `/api/auth`. */
type Post = (
  path: string,
  body: unknown,
  token: string,
) => Promise<Pick<TestResponse, 'status' | 'text' | 'json'>>

/** Enrolls an authenticator app. The code of the current step remains unused. */
export async function enrollTotp(post: Post, token: string): Promise<Pick<TotpUser, 'secret' | 'factorId'>> {
  const { secret, factor_id: factorId } = (await post('mfa/totp/enroll', undefined, token)).json
  // The previous step is within the server's window, unless the current one ends meanwhile.
  const confirm = () => post('mfa/totp/enroll/confirm', { code: totpCode(secret, -1) }, token)
  let confirmed = await confirm()
  if (confirmed.status === 401) confirmed = await confirm()
  if (confirmed.status !== 200) throw new Error(`totp: ${confirmed.text}`)
  return { secret, factorId }
}

/** Creates a user with a confirmed authenticator app. */
export async function totpUser({ register, post }: AccountsApp, email = newEmail()): Promise<TotpUser> {
  const signedIn = await register(email)
  return { ...signedIn, ...(await enrollTotp(post, signedIn.token)) }
}

/** Returns the token of a sign-in that waits for its second factor. */
export async function pendingToken({ post }: AccountsApp, email: string): Promise<string> {
  const { status, json } = await post('login', { email, password: goodPassword })
  if (status !== 200 || json.mfa_pending !== true) throw new Error(`not pending: ${JSON.stringify(json)}`)
  return json.mfa_token
}

/** Opens a session of assurance level 2 with an unused step of the app. */
export async function aal2Session(accounts: AccountsApp, user: TotpUser, steps = 0): Promise<SignedIn> {
  const token = await pendingToken(accounts, user.user.email)
  const { challenge_id } = (await accounts.post('mfa/totp/challenge', undefined, token)).json
  const code = totpCode(user.secret, steps)
  const verified = await accounts.post('mfa/totp/verify', { challenge_id, code }, token)
  if (verified.status !== 200) throw new Error(`verify: ${verified.text}`)
  return verified.json
}

/** Returns the next code that was sent to an address or a phone. */
export async function sentCode({ inbox }: AccountsApp, to: string): Promise<string> {
  for (;;) {
    const delivery = await inbox.take(to)
    if (delivery.body !== undefined) return codeIn(delivery)
    const code = /\b(\d{6})\b/.exec(delivery.text ?? '')?.[1]
    if (code !== undefined) return code
  }
}
