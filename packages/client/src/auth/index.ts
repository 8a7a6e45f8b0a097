import { readList } from '../answer.ts'
import { createTransport, pathSegment, type TransportOptions } from '../transport.ts'
import { type CeremonyOptions, createCeremonies } from './ceremony.ts'
import { createFactors, type Factors } from './factors.ts'
import { createPasskeys, type Passkeys } from './passkeys.ts'
import {
  beginRedirect,
  completeTokens,
  type Identity,
  openPopup,
  type PopupOptions,
  type ProviderAnswer,
  providerFailure,
  providerUrl,
  takeRedirect,
} from './providers.ts'
import { createSecondFactor, type SecondFactor } from './second-factor.ts'
import { memorySession, type Session, type SessionStorage, type Tokens, type User } from './session.ts'
import { createSessionStore, type SessionStore } from './session-store.ts'

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

export interface AuthOptions extends Omit<TransportOptions, 'auth'> {
  /** In memory unless given: `localSession()` in browsers, `cookieSession(…)` on servers. */
  readonly storage?: SessionStorage | undefined
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined
}

/** How a sign-in ended: look at `status`. */
export type SignInResult =
  | { readonly status: 'signed_in'; readonly session: Session }
  | { readonly status: 'second_factor'; readonly factor: SecondFactor<SignInResult> }
  /** A mailed link has to be followed first (`auth.require_verified_email`). */
  | { readonly status: 'verify_email'; readonly user: User }

/** What `finishRedirect` answers after `linkWithRedirect`. */
export interface LinkResult {
  readonly status: 'linked'
  readonly provider: string
}

export interface Credentials {
  readonly email: string
  readonly password: string
}

export interface SignedInSession {
  readonly id: string
  readonly user_agent: string
  readonly ip_address: string
  readonly created_at: string
  readonly last_active_at: string
  readonly current: boolean
}

/** Accounts and sessions. Give it to `createClient` as `auth`. */
export interface Auth extends Pick<SessionStore, 'current' | 'load' | 'refresh' | 'subscribe' | 'token'> {
  renew(refused: string): Promise<string | undefined>
  /** The id of the signed-in user. */
  identity(): string | undefined
  signUp(credentials: Credentials): Promise<SignInResult>
  signIn(credentials: Credentials): Promise<SignInResult>
  signInAnonymously(): Promise<SignInResult>
  /** Gives an anonymous user an address and a password; the id stays. */
  linkEmail(credentials: Credentials): Promise<SignInResult>
  sendMagicLink(email: string): Promise<void>
  /** With the token of the link. */
  confirmMagicLink(token: string): Promise<SignInResult>
  sendSms(phone: string): Promise<void>
  confirmSms(phone: string, code: string): Promise<SignInResult>
  /** With a passkey, of this address or of the person's choice. In a browser. */
  signInWithPasskey(email?: string, options?: CeremonyOptions): Promise<SignInResult>
  /**
   * Offers passkeys in the page's `<input autocomplete="username webauthn">`. Undefined where the browser cannot, the signal is
   * aborted, or another passkey is asked for first.
   */
  offerPasskeys(options?: CeremonyOptions): Promise<SignInResult | undefined>
  /** Leaves the page for that of a provider; `finishRedirect` follows on the page that it returns to. */
  signInWithRedirect(provider: string, redirectTo?: string): void
  /** Undefined where this tab has begun no sign-in. */
  finishRedirect(): Promise<SignInResult | LinkResult | undefined>
  /** On pages of the server's own origin, within a click. @throws BasaltError popup_blocked, popup_closed, … */
  signInWithPopup(provider: string, options?: PopupOptions): Promise<SignInResult>
  /** Accounts at providers that sign this user in. */
  identities(): Promise<readonly Identity[]>
  /** Links one more: leaves the page, as `signInWithRedirect`. */
  linkWithRedirect(provider: string, redirectTo?: string): Promise<void>
  /** Links one more: stays on the page, as `signInWithPopup`. */
  linkWithPopup(provider: string, options?: PopupOptions): Promise<void>
  /** Unless it is the last way to sign in. */
  unlink(provider: string): Promise<void>
  providerUrl(provider: string, redirectTo?: string): string
  /** Ends the session; locally also when the server cannot be reached. */
  signOut(): Promise<void>
  me(): Promise<User>
  sessions(): Promise<readonly SignedInSession[]>
  revokeSession(id: string): Promise<void>
  revokeOtherSessions(): Promise<void>
  changePassword(currentPassword: string, newPassword: string): Promise<void>
  sendPasswordReset(email: string): Promise<void>
  confirmPasswordReset(token: string, password: string): Promise<void>
  verifyEmail(token: string): Promise<void>
  resendVerification(): Promise<void>
  deleteAccount(): Promise<void>
  /** Second factors of the signed-in user. */
  readonly factors: Factors
  readonly passkeys: Passkeys
}

const discovery = 'webauthn/login/discover'

/** Tokens, or what stands in their place. */
type Answer = Tokens | { readonly mfa_token: string } | { readonly user: User }

export function createAuth({ storage = memorySession(), now = Date.now, ...options }: AuthOptions): Auth {
  const anonymous = createTransport(options)
  const store = createSessionStore(storage, anonymous, now)
  const transport = createTransport({ ...options, auth: store })
  const ceremonies = createCeremonies()

  async function accept(answer: Answer | null): Promise<SignInResult> {
    const { mfa_token, token, user } = { ...answer } as Partial<Tokens & { mfa_token: string }>
    if (mfa_token !== undefined) {
      const factor = createSecondFactor<SignInResult>(anonymous, mfa_token, ceremonies, accept)
      return { status: 'second_factor', factor }
    }
    if (token === undefined && user !== undefined) return { status: 'verify_email', user }
    return { status: 'signed_in', session: await store.set(answer as Tokens) }
  }

  /** Sent once: a sign-in that is sent again might use up a code. */
  const post = (path: string, body: unknown = {}) =>
    anonymous.request('POST', `auth/${path}`, { body, isRepeatable: false })
  const signIn = async (path: string, body?: unknown) => await accept((await post(path, body)) as Answer)
  const asUser = (method: string, path: string, body?: unknown) =>
    transport.request(method, `auth/${path}`, { body, isRepeatable: method === 'GET' })
  const acceptProvider = async (answer: Exclude<ProviderAnswer, { linked: string }>) =>
    await accept('mfa_pending' in answer ? answer : await completeTokens(anonymous, answer))

  const beginPasskey = async (path: string, body?: object) =>
    (await post(`${path}/begin`, body)) as { readonly challenge_id: string; readonly options: unknown }

  async function signInWithPasskey(email?: string, ceremony?: CeremonyOptions): Promise<SignInResult> {
    const path = email === undefined ? discovery : 'webauthn/login'
    const { challenge_id, options: challenge } = await beginPasskey(path, { email })
    const assertion_response = await ceremonies.get(challenge, ceremony)
    return await signIn(`${path}/finish`, { challenge_id, assertion_response })
  }

  let offers = 0
  /** The latest whose challenge has arrived: one that fails before ends no other. */
  let newestOffer = 0
  async function offerPasskeys({ signal }: CeremonyOptions = {}): Promise<SignInResult | undefined> {
    offers += 1
    const own = offers
    const isAvailable = await globalThis.PublicKeyCredential?.isConditionalMediationAvailable?.()
    if (isAvailable !== true) return undefined
    try {
      for (;;) {
        const { challenge_id, options: challenge } = await beginPasskey(discovery)
        // Answers may arrive in another order than their requests were made.
        if (own < newestOffer) return undefined
        newestOffer = own
        const chosen = await ceremonies.offer(challenge, { signal })
        if (chosen === 'superseded') return undefined
        if (chosen === 'expired') continue
        return await signIn(`${discovery}/finish`, { challenge_id, assertion_response: chosen.answer })
      }
    } catch (error) {
      if (signal?.aborted === true) return undefined
      throw error
    }
  }

  /** Where the browser goes, which sends no token: the address carries who asked. */
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
      await accept((await asUser('POST', 'link/email', credentials)) as Answer),
    sendMagicLink: async (email) => void (await post('magic-link', { email })),
    // With the token of an anonymous user the account keeps its id.
    confirmMagicLink: async (token) =>
      await accept((await asUser('POST', 'magic-link/confirm', { token })) as Answer),
    sendSms: async (phone) => void (await post('sms', { phone })),
    confirmSms: (phone, code) => signIn('sms/confirm', { phone, code }),
    signInWithPasskey,
    offerPasskeys,
    signInWithRedirect: (provider, redirectTo) =>
      beginRedirect(providerUrl(transport, provider, { redirect_to: redirectTo })),
    async finishRedirect() {
      const answer = takeRedirect()
      if (answer === undefined) return undefined
      return 'linked' in answer ? { status: 'linked', provider: answer.linked } : await acceptProvider(answer)
    },
    async signInWithPopup(provider, popup) {
      const answer = await openPopup(transport, provider, async () => ({}), popup)
      if ('linked' in answer) throw providerFailure()
      return await acceptProvider(answer)
    },
    identities: async () => readList<Identity>(await asUser('GET', 'identities')),
    async linkWithRedirect(provider, redirectTo) {
      beginRedirect(await beginLink(provider, redirectTo))
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
      await anonymous.request('POST', 'auth/logout', { body, isRepeatable: true })
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
