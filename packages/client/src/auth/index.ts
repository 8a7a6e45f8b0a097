import { BasaltError } from '../errors.ts'
import { readList } from '../response.ts'
import { createTransport, pathSegment, type TransportOptions } from '../transport.ts'
import { type CaptchaChallenge, type SolveCaptcha, solveCaptcha } from './captcha.ts'
import { type CeremonyOptions, createCeremonies } from './ceremony.ts'
import { createFactors, type Factors } from './factors.ts'
import { createPasskeys, type Passkeys } from './passkeys.ts'
import {
  completeTokens,
  consumeRedirect,
  type Identity,
  openPopup,
  type PopupOptions,
  type ProviderResult,
  providerFailure,
  providerUrl,
  startRedirect,
} from './providers.ts'
import { createSecondFactor, type SecondFactor } from './second-factor.ts'
import { memorySession, type Session, type SessionStorage, type Tokens, type User } from './session.ts'
import { createSessionStore, type SessionStore } from './session-store.ts'

export type { CaptchaChallenge, SolveCaptcha } from './captcha.ts'
export type { CeremonyOptions } from './ceremony.ts'
export type { Factors } from './factors.ts'
export type { Passkey, Passkeys } from './passkeys.ts'
export type { Identity, PopupOptions } from './providers.ts'
export type { Factor, SecondFactor } from './second-factor.ts'
export {
  type CookieAttributes,
  type CookieOptions,
  type Cookies,
  cookieSession,
  localSession,
  memorySession,
  type Session,
  type SessionStorage,
  type User,
} from './session.ts'

/** Options of {@link createAuth}. */
export interface AuthOptions extends Omit<TransportOptions, 'auth'> {
  /** Storage of the session; in memory unless set. Use `localSession()` in browsers and `cookieSession(…)` on servers. */
  readonly storage?: SessionStorage | undefined
  /** Clock, in milliseconds since 1970; `Date.now` unless set. */
  readonly now?: (() => number) | undefined
  /** Solver of a provider's captcha (`auth.captcha`). The client solves a proof of work by itself. */
  readonly captcha?: SolveCaptcha | undefined
}

/** Result of a sign-in attempt, by `status`. */
export type SignInResult =
  | { readonly status: 'signed_in'; readonly session: Session }
  | { readonly status: 'second_factor'; readonly factor: SecondFactor<SignInResult> }
  /** The user has to follow a mailed link first (`auth.require_verified_email`). */
  | { readonly status: 'verify_email'; readonly user: User }

/** Result of `finishRedirect` after `linkWithRedirect`. */
export interface LinkResult {
  readonly status: 'linked'
  readonly provider: string
}

/** Email address and password. */
export interface Credentials {
  readonly email: string
  readonly password: string
}

/** Session of the signed-in user, on any device. */
export interface SignedInSession {
  readonly id: string
  readonly user_agent: string
  readonly ip_address: string
  readonly created_at: string
  readonly last_active_at: string
  /** True for the session that sent the request. */
  readonly current: boolean
}

/** Accounts and sessions. Pass the object to `createClient` as `auth`. */
export interface Auth extends Pick<SessionStore, 'current' | 'load' | 'refresh' | 'subscribe' | 'token'> {
  /** Returns another access token after the server rejected one, or undefined if the session has ended. */
  renew(rejected: string): Promise<string | undefined>
  /** Returns the id of the signed-in user. */
  identity(): string | undefined
  /** Creates an account and signs in. */
  signUp(credentials: Credentials): Promise<SignInResult>
  /** Signs in with an email address and a password. */
  signIn(credentials: Credentials): Promise<SignInResult>
  /** Creates an anonymous user and signs in. */
  signInAnonymously(): Promise<SignInResult>
  /** Adds an email address and a password to an anonymous user, whose id stays the same. */
  linkEmail(credentials: Credentials): Promise<SignInResult>
  /** Mails a sign-in link. */
  sendMagicLink(email: string): Promise<void>
  /** Signs in with the token of a mailed link. */
  confirmMagicLink(token: string): Promise<SignInResult>
  /** Sends a sign-in code by text message. */
  sendSms(phone: string): Promise<void>
  /** Signs in with the code of a text message. */
  confirmSms(phone: string, code: string): Promise<SignInResult>
  /**
   * Signs in with a passkey, in a browser. Without an email address the user chooses the account.
   * @throws BasaltError `passkey_cancelled`, `passkey_unsupported` or `passkey_wrong_site`
   */
  signInWithPasskey(email?: string, options?: CeremonyOptions): Promise<SignInResult>
  /**
   * Offers passkeys in the `<input autocomplete="username webauthn">` of the page, until one is chosen. Returns undefined if
   * the browser does not support it, the signal is aborted or another passkey ceremony starts first.
   */
  offerPasskeys(options?: CeremonyOptions): Promise<SignInResult | undefined>
  /**
   * Redirects to the sign-in page of a provider. Call `finishRedirect` on the page that the provider returns to.
   * @param redirectTo path of the page to return to. `finishRedirect` restores its fragment.
   * @throws BasaltError `storage_denied`
   */
  signInWithRedirect(provider: string, redirectTo?: string): void
  /** Completes a sign-in or link that this tab started. Returns undefined if it started none. */
  finishRedirect(): Promise<SignInResult | LinkResult | undefined>
  /**
   * Signs in with a provider in a popup. Only on pages of the server's own origin, and only within a click.
   * @throws BasaltError `popup_blocked`, `popup_closed` or `provider_sign_in_failed`
   */
  signInWithPopup(provider: string, options?: PopupOptions): Promise<SignInResult>
  /** Lists the provider accounts that can sign in as this user. */
  identities(): Promise<readonly Identity[]>
  /** Links a provider account, with a redirect as in `signInWithRedirect`. */
  linkWithRedirect(provider: string, redirectTo?: string): Promise<void>
  /** Links a provider account, with a popup as in `signInWithPopup`. */
  linkWithPopup(provider: string, options?: PopupOptions): Promise<void>
  /** Unlinks a provider account, unless it is the only way to sign in. */
  unlink(provider: string): Promise<void>
  /** Returns the URL that starts a sign-in with a provider. */
  providerUrl(provider: string, redirectTo?: string): string
  /** Signs out. Clears the stored session even if the server is unavailable. */
  signOut(): Promise<void>
  /** Returns the signed-in user as the server stores it. */
  me(): Promise<User>
  /** Lists the sessions of the user. */
  sessions(): Promise<readonly SignedInSession[]>
  /** Revokes a session by its id. */
  revokeSession(id: string): Promise<void>
  /** Revokes all sessions of the user except this one. */
  revokeOtherSessions(): Promise<void>
  /** Changes the password. */
  changePassword(currentPassword: string, newPassword: string): Promise<void>
  /** Mails a link that resets the password. */
  sendPasswordReset(email: string): Promise<void>
  /** Sets a new password with the token of a mailed link. */
  confirmPasswordReset(token: string, password: string): Promise<void>
  /** Verifies the email address with the token of a mailed link. */
  verifyEmail(token: string): Promise<void>
  /** Mails another verification link. */
  resendVerification(): Promise<void>
  /** Deletes the account and clears the stored session. */
  deleteAccount(): Promise<void>
  /** Second factors of the signed-in user. */
  readonly factors: Factors
  /** Passkeys of the signed-in user. */
  readonly passkeys: Passkeys
}

const discovery = 'webauthn/login/discover'

/** Sign-in response: tokens, a pending second factor, or a user whose email address is not verified. */
type SignInResponse = Tokens | { readonly mfa_token: string } | { readonly user: User }

/**
 * Creates the accounts object of a server, for `createClient`.
 *
 * @throws TypeError if an option is invalid
 */
export function createAuth({
  storage = memorySession(),
  now = Date.now,
  captcha,
  ...options
}: AuthOptions): Auth {
  const anonymous = createTransport(options)
  const store = createSessionStore(storage, anonymous, now)
  const transport = createTransport({ ...options, auth: store })
  const ceremonies = createCeremonies()

  async function accept(response: SignInResponse | null): Promise<SignInResult> {
    const { mfa_token, token, user } = { ...response } as Partial<Tokens & { mfa_token: string }>
    if (mfa_token !== undefined) {
      const factor = createSecondFactor<SignInResult>(anonymous, mfa_token, ceremonies, accept)
      return { status: 'second_factor', factor }
    }
    if (token === undefined && user !== undefined) return { status: 'verify_email', user }
    return { status: 'signed_in', session: await store.set(response as Tokens) }
  }

  /** Sends a request once. A retried sign-in might use up a code. */
  const postOnce = (path: string, body: unknown, headers = {}) =>
    anonymous.request('POST', `auth/${path}`, { body, headers, isRepeatable: false })
  const post = async (path: string, body: unknown = {}) => {
    try {
      return await postOnce(path, body)
    } catch (error) {
      if (!(error instanceof BasaltError) || error.error !== 'captcha_required') throw error
      const query = new URLSearchParams({ route: String(error.data?.route) })
      const challenge = await anonymous.request('GET', `auth/captcha?${query}`, { isRepeatable: true })
      const response = await solveCaptcha(challenge as CaptchaChallenge, captcha)
      if (response === undefined) throw error
      return await postOnce(path, body, { 'x-captcha-response': response })
    }
  }
  const signIn = async (path: string, body?: unknown) =>
    await accept((await post(path, body)) as SignInResponse)
  const asUser = (method: string, path: string, body?: unknown) =>
    transport.request(method, `auth/${path}`, { body, isRepeatable: method === 'GET' })
  const acceptProvider = async (result: Exclude<ProviderResult, { linked: string }>) =>
    await accept('mfa_pending' in result ? result : await completeTokens(anonymous, result))

  const beginPasskey = async (path: string, body?: object) =>
    (await post(`${path}/begin`, body)) as { readonly challenge_id: string; readonly options: unknown }

  async function signInWithPasskey(email?: string, ceremony?: CeremonyOptions): Promise<SignInResult> {
    const path = email === undefined ? discovery : 'webauthn/login'
    const { challenge_id, options: challenge } = await beginPasskey(path, { email })
    const assertion_response = await ceremonies.get(challenge, ceremony)
    return await signIn(`${path}/finish`, { challenge_id, assertion_response })
  }

  let offers = 0
  /** Latest offer whose challenge has arrived. An earlier offer that fails must not end it. */
  let newestOffer = 0
  async function offerPasskeys({ signal }: CeremonyOptions = {}): Promise<SignInResult | undefined> {
    offers += 1
    const own = offers
    const isAvailable = await globalThis.PublicKeyCredential?.isConditionalMediationAvailable?.()
    if (isAvailable !== true) return undefined
    try {
      for (;;) {
        const { challenge_id, options: challenge } = await beginPasskey(discovery)
        // Responses may arrive in a different order than the requests.
        if (own < newestOffer) return undefined
        newestOffer = own
        const chosen = await ceremonies.offer(challenge, { signal })
        if (chosen === 'superseded') return undefined
        if (chosen === 'expired') continue
        return await signIn(`${discovery}/finish`, { challenge_id, assertion_response: chosen.response })
      }
    } catch (error) {
      if (signal?.aborted === true) return undefined
      throw error
    }
  }

  /** Returns the URL to redirect to. The browser sends no token there, so the URL identifies the user. */
  const beginLink = async (provider: string, redirectTo?: string) => {
    const body = { provider, redirect_to: redirectTo }
    return ((await asUser('POST', 'link/oauth/begin', body)) as { url: string }).url
  }

  return {
    get current() {
      return store.current
    },
    load: store.load,
    refresh: store.refresh,
    subscribe: store.subscribe,
    token: store.token,
    identity: () => store.current?.user.id,
    renew: async (refused) => await store.renew?.(refused),
    signUp: (credentials) => signIn('register', credentials),
    signIn: (credentials) => signIn('login', credentials),
    signInAnonymously: () => signIn('anonymous'),
    linkEmail: async (credentials) =>
      await accept((await asUser('POST', 'link/email', credentials)) as SignInResponse),
    sendMagicLink: async (email) => void (await post('magic-link', { email })),
    // With the token of an anonymous user, the account keeps its id.
    confirmMagicLink: async (token) =>
      await accept((await asUser('POST', 'magic-link/confirm', { token })) as SignInResponse),
    sendSms: async (phone) => void (await post('sms', { phone })),
    confirmSms: (phone, code) => signIn('sms/confirm', { phone, code }),
    signInWithPasskey,
    offerPasskeys,
    signInWithRedirect: (provider, redirectTo) =>
      startRedirect(providerUrl(transport, provider, { redirect_to: redirectTo }), redirectTo),
    async finishRedirect() {
      const result = consumeRedirect()
      if (result === undefined) return undefined
      return 'linked' in result ? { status: 'linked', provider: result.linked } : await acceptProvider(result)
    },
    async signInWithPopup(provider, popup) {
      const result = await openPopup(transport, provider, async () => ({}), popup)
      if ('linked' in result) throw providerFailure()
      return await acceptProvider(result)
    },
    identities: async () => readList<Identity>(await asUser('GET', 'identities')),
    async linkWithRedirect(provider, redirectTo) {
      startRedirect(await beginLink(provider, redirectTo), redirectTo)
    },
    async linkWithPopup(provider, popup) {
      const ticket = async () => ({ link: new URL(await beginLink(provider)).searchParams.get('link') ?? '' })
      if (!('linked' in (await openPopup(transport, provider, ticket, popup)))) throw providerFailure()
    },
    unlink: async (provider) => void (await asUser('DELETE', 'link/oauth', { provider })),
    providerUrl: (provider, redirectTo) => providerUrl(transport, provider, { redirect_to: redirectTo }),
    async signOut() {
      const session = await store.clear()
      if (session === undefined) return
      const body = { refreshToken: session.refreshToken }
      await anonymous.request('POST', 'auth/logout', { body, isRepeatable: true, retryForMs: 3000 })
    },
    me: async () => (await asUser('GET', 'me')) as User,
    sessions: async () => readList<SignedInSession>(await asUser('GET', 'sessions')),
    revokeSession: async (id) => void (await asUser('DELETE', `sessions/${pathSegment(id)}`)),
    revokeOtherSessions: async () => void (await asUser('DELETE', 'sessions?all_except_current=true')),
    changePassword: async (currentPassword, newPassword) =>
      void (await asUser('POST', 'change-password', { currentPassword, newPassword })),
    sendPasswordReset: async (email) => void (await post('password-reset', { email })),
    confirmPasswordReset: async (token, password) =>
      void (await post('password-reset/confirm', { token, password })),
    verifyEmail: async (token) => void (await post('verify', { token })),
    resendVerification: async () => void (await asUser('POST', 'verify/resend', {})),
    async deleteAccount() {
      await asUser('DELETE', 'me')
      await store.clear()
    },
    factors: createFactors(transport),
    passkeys: createPasskeys(transport, ceremonies),
  }
}
