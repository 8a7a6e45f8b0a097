import { BasaltError } from '../errors.ts'
import type { Transport } from '../transport.ts'
import type { Tokens, User } from './session.ts'

/** What a sign-in with a provider answers. */
export type ProviderAnswer = Omit<Tokens, 'user'> | { readonly mfa_pending: true; readonly mfa_token: string }

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

export function beginRedirect(transport: Transport, provider: string, redirectTo: string | undefined): void {
  sessionStorage.setItem(begunKey, provider)
  location.assign(providerUrl(transport, provider, { redirect_to: redirectTo }))
}

/** What the fragment of the page's address holds; it is removed from it. Undefined where this tab has begun nothing. */
export function takeRedirect(): ProviderAnswer | undefined {
  const parameters = new URLSearchParams(location.hash.slice(1))
  const isAnswer = ['token', 'mfa_token', 'error'].some((name) => parameters.has(name))
  if (!isAnswer) return undefined
  // Neither the history nor the next link shall carry tokens.
  history.replaceState(history.state, '', location.pathname + location.search)
  const isBegun = sessionStorage.getItem(begunKey) !== null
  sessionStorage.removeItem(begunKey)
  return isBegun ? readAnswer(Object.fromEntries(parameters)) : undefined
}

/** In a window of its own; on pages of the server's own origin, within a click. */
export async function openPopup(transport: Transport, provider: string): Promise<ProviderAnswer> {
  // Opened before anything is waited for: browsers block what does not follow a click at once.
  const popup = window.open('about:blank', '_blank', 'popup,width=520,height=640')
  if (popup === null)
    throw new BasaltError('the browser has blocked the window', { error: 'popup_blocked', status: 0 })
  const events = new EventSource(`${transport.url}/api/realtime?oauth=true`)
  let watch: ReturnType<typeof setInterval> | undefined
  try {
    return await new Promise<ProviderAnswer>((resolve, reject) => {
      const fail = (error: string, message: string) => reject(new BasaltError(message, { error, status: 0 }))
      const opened = ({ data }: MessageEvent<string>) => {
        const { clientId } = JSON.parse(data) as { clientId: string }
        popup.location.href = providerUrl(transport, provider, { state: clientId })
        watch = setInterval(() => {
          if (popup.closed) fail('popup_closed', 'the window was closed')
        }, 500)
      }
      events.addEventListener('connected', opened, { once: true })
      events.addEventListener('oauth', ({ data }: MessageEvent<string>) => {
        try {
          resolve(readAnswer(JSON.parse(data) as Record<string, string>))
        } catch (error) {
          reject(error)
        }
      })
      events.addEventListener('error', () => {
        if (events.readyState === EventSource.CLOSED) fail('network_error', 'the server cannot be reached')
      })
    })
  } finally {
    clearInterval(watch)
    events.close()
    popup.close()
  }
}

function readAnswer(answer: Readonly<Record<string, unknown>>): ProviderAnswer {
  const { token, refreshToken, mfa_token, error } = answer
  if (typeof mfa_token === 'string') return { mfa_pending: true, mfa_token }
  if (typeof token === 'string' && typeof refreshToken === 'string') return { token, refreshToken }
  throw new BasaltError(typeof error === 'string' ? error : 'the provider has not signed in', {
    error: 'provider_sign_in_failed',
    status: 0,
  })
}

/** With the user, which the address of a page does not carry. */
export async function completeTokens(transport: Transport, tokens: Omit<Tokens, 'user'>): Promise<Tokens> {
  const user = (await transport.request('GET', 'auth/me', {
    token: tokens.token,
    isRepeatable: true,
  })) as User
  return { ...tokens, user }
}
