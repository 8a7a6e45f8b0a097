import { BasaltError } from '../errors.ts'
import type { Transport } from '../transport.ts'
import type { Tokens, User } from './session.ts'

/** Result of a provider sign-in, or of linking a provider account. */
export type ProviderResult =
  | Omit<Tokens, 'user'>
  | { readonly mfa_pending: true; readonly mfa_token: string }
  | { readonly linked: string }

/** Provider account that is linked to a user. */
export interface Identity {
  readonly provider: string
  /** User id at the provider. */
  readonly subject: string
  readonly email: string | null
  readonly name: string | null
  /** False if the account is linked but cannot sign in yet. */
  readonly proven: boolean
  readonly createdAt: string
  readonly lastSignInAt: string | null
}

/** Options of a popup. */
export interface PopupOptions {
  /** Signal that closes the popup. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Key of a marker in the session storage of the tab. Without the marker a link with tokens in it must not sign in. Its value is
 * the fragment of the page to return to, because the tokens return in the fragment.
 */
const markerKey = 'basalt.provider-sign-in'

/** Returns the URL that starts a provider sign-in. */
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

/**
 * Redirects to a provider. @throws BasaltError `storage_denied`: without storage, a sign-in started by another site looks the
 * same
 * @param redirectTo page to return to
 */
export function startRedirect(url: string, redirectTo = ''): void {
  try {
    sessionStorage.setItem(markerKey, /#.*$/s.exec(redirectTo)?.[0] ?? '')
  } catch (cause) {
    const message = 'the browser denies this page its storage; open it in a window of its own'
    throw new BasaltError(message, { error: 'storage_denied', status: 0, cause })
  }
  location.assign(url)
}

/**
 * Reads the result of a redirect from the URL fragment, and replaces it by the fragment of the page to return to. Returns
 * undefined if this tab started no redirect.
 */
export function consumeRedirect(): ProviderResult | undefined {
  // A server that renders pages has no location.
  const parameters = new URLSearchParams(globalThis.location?.hash.slice(1))
  const hasResult = ['token', 'mfa_token', 'linked', 'error'].some((name) => parameters.has(name))
  if (!hasResult) return undefined
  // Tokens must stay out of the history and of the next link.
  history.replaceState(history.state, '', location.pathname + location.search)
  const fragment = consumeMarker()
  if (fragment === null) return undefined
  // Unlike `replaceState`, this is an event for routers that follow the fragment.
  if (fragment !== '') location.replace(new URL(fragment, location.href))
  return readResult(Object.fromEntries(parameters))
}

/** Removes the marker. Returns its fragment, or null without a marker. */
function consumeMarker(): string | null {
  try {
    const fragment = sessionStorage.getItem(markerKey)
    sessionStorage.removeItem(markerKey)
    return fragment
  } catch {
    return null
  }
}

/**
 * Time to wait for the result after the popup closed. The popup closes as soon as the server has the result, which may arrive
 * later.
 */
const graceMs = 3000

/** Opens a provider sign-in in a popup. @param ticket returns further URL parameters, once the popup is open */
export async function openPopup(
  transport: Transport,
  provider: string,
  ticket: () => Promise<Readonly<Record<string, string>>>,
  { signal }: PopupOptions = {},
): Promise<ProviderResult> {
  signal?.throwIfAborted()
  if (new URL(transport.url, location.href).origin !== location.origin) {
    // The cookie that ties the popup to this page belongs to the origin of the server.
    throw new TypeError('a popup needs a page of the same origin as the server; elsewhere redirect')
  }
  // The popup opens before any await, because browsers block popups that do not directly follow a click.
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
    return await new Promise<ProviderResult>((resolve, reject) => {
      ended.signal.addEventListener('abort', () => reject(ended.signal.reason), { once: true })
      const opened = async ({ data }: MessageEvent<string>) => {
        const { clientId } = JSON.parse(data) as { clientId: string }
        popup.location.href = providerUrl(transport, provider, { ...(await ticket()), state: clientId })
      }
      events.addEventListener('connected', (event) => void opened(event).catch(reject), { once: true })
      events.addEventListener('oauth', ({ data }: MessageEvent<string>) => {
        try {
          resolve(readResult(JSON.parse(data) as Record<string, string>))
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

/** Creates the error of a failed provider sign-in. @param reason message of the server */
export function providerFailure(reason?: unknown): BasaltError {
  const message = typeof reason === 'string' ? reason : 'the provider has not signed in'
  return failure('provider_sign_in_failed', message)
}

function readResult(result: Readonly<Record<string, unknown>>): ProviderResult {
  const { token, refreshToken, mfa_token, linked, error } = result
  if (typeof mfa_token === 'string') return { mfa_pending: true, mfa_token }
  if (typeof linked === 'string') return { linked }
  if (typeof token === 'string' && typeof refreshToken === 'string') return { token, refreshToken }
  throw providerFailure(error)
}

/** Fetches the user of the tokens, which a URL fragment does not carry. */
export async function completeTokens(transport: Transport, tokens: Omit<Tokens, 'user'>): Promise<Tokens> {
  const user = (await transport.request('GET', 'auth/me', {
    token: tokens.token,
    isRepeatable: true,
  })) as User
  return { ...tokens, user }
}
