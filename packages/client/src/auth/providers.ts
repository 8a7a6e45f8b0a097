import { BasaltError } from '../errors.ts'
import type { Transport } from '../transport.ts'
import type { Tokens, User } from './session.ts'

/** What a sign-in with a provider answers, or linking one. */
export type ProviderAnswer =
  | Omit<Tokens, 'user'>
  | { readonly mfa_pending: true; readonly mfa_token: string }
  | { readonly linked: string }

/** An account at a provider. */
export interface Identity {
  readonly provider: string
  /** The provider's id of the person. */
  readonly subject: string
  readonly email: string | null
  readonly name: string | null
  /** False: linked, but not yet a way to sign in. */
  readonly proven: boolean
  readonly createdAt: string
  readonly lastSignInAt: string | null
}

export interface PopupOptions {
  /** Closes the window. */
  readonly signal?: AbortSignal | undefined
}

/** Remembers that this tab has begun a sign-in: a link with tokens in it must not sign in. */
const begunKey = 'basalt.provider-sign-in'

export function providerUrl(
  transport: Transport,
  provider: string,
  parameters: Readonly<Record<string, string | undefined>> = {},
): string {
  const url = new URL(`${transport.url}/api/auth/oauth/${encodeURIComponent(provider)}`)
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, value)
  }
  return url.href
}

/** @throws BasaltError storage_denied: an answer that another site has begun would look the same */
export function beginRedirect(url: string): void {
  try {
    sessionStorage.setItem(begunKey, url)
  } catch (cause) {
    const message = 'the browser denies this page its storage; open it in a window of its own'
    throw new BasaltError(message, { error: 'storage_denied', status: 0, cause })
  }
  location.assign(url)
}

/** What the fragment of the page's address holds; it is removed from it. Undefined where this tab has begun nothing. */
export function takeRedirect(): ProviderAnswer | undefined {
  // A server that renders pages has none.
  const parameters = new URLSearchParams(globalThis.location?.hash.slice(1))
  const isAnswer = ['token', 'mfa_token', 'linked', 'error'].some((name) => parameters.has(name))
  if (!isAnswer) return undefined
  // Neither the history nor the next link shall carry tokens.
  history.replaceState(history.state, '', location.pathname + location.search)
  return takeBegun() ? readAnswer(Object.fromEntries(parameters)) : undefined
}

function takeBegun(): boolean {
  try {
    const isBegun = sessionStorage.getItem(begunKey) !== null
    sessionStorage.removeItem(begunKey)
    return isBegun
  } catch {
    return false
  }
}

/** The window closes itself as soon as the server has the answer, which may arrive a little later. */
const graceMs = 3000

/** In a window of its own. @param ticket what goes into its address besides; asked for when the window is open */
export async function openPopup(
  transport: Transport,
  provider: string,
  ticket: () => Promise<Readonly<Record<string, string>>>,
  { signal }: PopupOptions = {},
): Promise<ProviderAnswer> {
  signal?.throwIfAborted()
  if (new URL(transport.url, location.href).origin !== location.origin) {
    // The cookie that ties the window to this page is of the server's origin.
    throw new TypeError('a popup needs a page of the same origin as the server; elsewhere redirect')
  }
  // Opened before anything is waited for: browsers block what does not follow a click at once.
  const popup = window.open('about:blank', '_blank', 'popup,width=520,height=640')
  if (popup === null) throw failure('popup_blocked', 'the browser has blocked the window')
  const events = new EventSource(`${transport.url}/api/realtime?oauth=true`)
  const ended = new AbortController()
  let grace: ReturnType<typeof setTimeout> | undefined
  const watch = setInterval(() => {
    if (popup.closed)
      grace ??= setTimeout(() => ended.abort(failure('popup_closed', 'the window was closed')), graceMs)
  }, 200)
  const abort = () => ended.abort(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  try {
    return await new Promise<ProviderAnswer>((resolve, reject) => {
      ended.signal.addEventListener('abort', () => reject(ended.signal.reason), { once: true })
      const opened = async ({ data }: MessageEvent<string>) => {
        const { clientId } = JSON.parse(data) as { clientId: string }
        popup.location.href = providerUrl(transport, provider, { ...(await ticket()), state: clientId })
      }
      events.addEventListener('connected', (event) => void opened(event).catch(reject), { once: true })
      events.addEventListener('oauth', ({ data }: MessageEvent<string>) => {
        try {
          resolve(readAnswer(JSON.parse(data) as Record<string, string>))
        } catch (error) {
          reject(error)
        }
      })
      events.addEventListener('error', () => {
        if (events.readyState === EventSource.CLOSED) {
          reject(failure('network_error', 'the server cannot be reached'))
        }
      })
    })
  } finally {
    clearInterval(watch)
    clearTimeout(grace)
    signal?.removeEventListener('abort', abort)
    events.close()
    popup.close()
  }
}

function failure(error: string, message: string): BasaltError {
  return new BasaltError(message, { error, status: 0 })
}

/** @param reason what the server says */
export function providerFailure(reason?: unknown): BasaltError {
  const message = typeof reason === 'string' ? reason : 'the provider has not signed in'
  return failure('provider_sign_in_failed', message)
}

function readAnswer(answer: Readonly<Record<string, unknown>>): ProviderAnswer {
  const { token, refreshToken, mfa_token, linked, error } = answer
  if (typeof mfa_token === 'string') return { mfa_pending: true, mfa_token }
  if (typeof linked === 'string') return { linked }
  if (typeof token === 'string' && typeof refreshToken === 'string') return { token, refreshToken }
  throw providerFailure(error)
}

/** With the user, which the address of a page does not carry. */
export async function completeTokens(transport: Transport, tokens: Omit<Tokens, 'user'>): Promise<Tokens> {
  const user = (await transport.request('GET', 'auth/me', {
    token: tokens.token,
    isRepeatable: true,
  })) as User
  return { ...tokens, user }
}
