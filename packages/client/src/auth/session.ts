import { randomId } from '../random-id.ts'
import { invalidResponse } from '../response.ts'

/** User as the server describes it. */
export interface User {
  readonly id: string
  /** Email address; empty if the user has none. */
  readonly email: string
  readonly emailVerified: boolean
  readonly phone?: string
  /** True if the user has no email address, phone number or other way to sign in. */
  readonly is_anonymous: boolean
  /** Time when an anonymous user added a way to sign in. */
  readonly linked_at?: string
  /** Facts that only functions and administrators set. Absent while there are none. */
  readonly app_metadata?: Readonly<Record<string, unknown>>
  readonly createdAt: string
  readonly updatedAt: string
}

/** Tokens of a new session. */
export interface Tokens {
  /** Access token (JWT). */
  readonly token: string
  readonly refreshToken: string
  readonly user: User
}

/** Session of a signed-in user. */
export interface Session extends Tokens {
  /** Expiry of the access token by the clock of this device, in milliseconds since 1970. */
  readonly expiresAt: number
  /** Assurance level: `aal2` after a second factor, otherwise `aal1`. */
  readonly aal: string
}

/** Storage of a session. */
export interface SessionStorage {
  /** Name of the session. Tabs share a session if their storages have the same name. */
  readonly name: string
  /** Returns the stored session, or null. */
  load(): string | null | Promise<string | null>
  /** Stores a session, or removes it for null. */
  save(session: string | null): void | Promise<void>
  /** Calls back when another tab or client has changed the stored session, for as long as the page is open. */
  watch?(changed: () => void): void
}

/** Creates a storage that keeps the session in memory, until the page is closed. */
export function memorySession(): SessionStorage {
  let fallback: string | null = null
  return {
    name: `basalt.session.${randomId()}`,
    load: () => fallback,
    save(session) {
      fallback = session
    },
  }
}

/**
 * Creates a storage in `localStorage`, which all tabs share. If `localStorage` is full or denied, the session lasts until the
 * page is closed.
 *
 * Scripts on the page can read the tokens. If your own server renders the pages, {@link cookieSession} hides the tokens from
 * scripts.
 *
 * @param name name of the session, to use several servers on one origin
 */
export function localSession(name = 'basalt.session'): SessionStorage {
  /** Session that `localStorage` did not accept. */
  let fallback: string | null = null
  return {
    name,
    load() {
      try {
        return localStorage.getItem(name) ?? fallback
      } catch {
        return fallback
      }
    },
    save(session) {
      fallback = null
      try {
        // One step, because other tabs would see a removal first as a sign-out.
        if (session === null) localStorage.removeItem(name)
        else localStorage.setItem(name, session)
      } catch {
        fallback = session
        removeOutdated(name)
      }
      // A page gets no storage event for its own writes.
      globalThis.dispatchEvent?.(new Event(name))
    },
    watch(changed) {
      const listener = ({ key }: StorageEvent) => {
        // The key is null if everything was cleared.
        if (key === name || key === null) changed()
      }
      // Without this function there are no other tabs.
      globalThis.addEventListener?.('storage', listener)
      globalThis.addEventListener?.(name, changed)
    },
  }
}

/**
 * Removes a stored session that could not be replaced. Another tab would use its refresh token a second time, which ends the
 * session.
 */
function removeOutdated(name: string): void {
  try {
    localStorage.removeItem(name)
  } catch {
    // Storage is denied, so nothing is stored.
  }
}

/** Cookies of one request, on a server that renders pages. */
export interface Cookies {
  get(name: string): string | undefined | Promise<string | undefined>
  set(name: string, value: string, attributes: CookieAttributes): void | Promise<void>
}

/** Attributes of the session cookie. */
export interface CookieAttributes {
  readonly path: '/'
  readonly httpOnly: true
  readonly secure: boolean
  readonly sameSite: 'lax'
  /** Lifetime in seconds; 0 removes the cookie. */
  readonly maxAge: number
}

/** Options of {@link cookieSession}. */
export interface CookieOptions {
  /** Name of the cookie; `basalt.session` unless set. */
  readonly name?: string | undefined
  /** True unless set. Set it to false for pages without TLS. */
  readonly secure?: boolean | undefined
  /** Lifetime of the cookie in seconds, which should equal `auth.refresh_token_duration`; 604,800 (a week) unless set. */
  readonly maxAgeSeconds?: number | undefined
}

/** Creates a storage in an `HttpOnly` cookie, for a server that renders pages. Create one `createAuth` for each request. */
export function cookieSession(
  cookies: Cookies,
  { name = 'basalt.session', secure = true, maxAgeSeconds = 604_800 }: CookieOptions = {},
): SessionStorage {
  const attributes = { path: '/', httpOnly: true, secure, sameSite: 'lax' } as const
  return {
    name,
    async load() {
      const value = await cookies.get(name)
      try {
        return decodeURIComponent(value ?? '') || null
      } catch {
        // Anyone can send a malformed cookie.
        return null
      }
    },
    save: (session) =>
      cookies.set(name, session === null ? '' : encodeURIComponent(session), {
        ...attributes,
        maxAge: session === null ? 0 : maxAgeSeconds,
      }),
  }
}

/** Claims of an access token. The server verifies the token. The client only reads when to renew it. */
interface Claims {
  readonly iat?: number
  readonly exp?: number
  readonly aal?: string
}

/**
 * Creates a session of new tokens. Its expiry follows from the lifetime of the token, because the clocks may differ.
 *
 * @param now in milliseconds
 * @throws BasaltError `invalid_response` for a response that is not a session: storing it would end the current session
 */
export function openSession(tokens: Tokens, now: number): Session {
  const { token, refreshToken, user } = { ...tokens }
  const { aal = 'aal1' } = readClaims(token)
  const session = { token, refreshToken, user, expiresAt: now + lifetimeMs(token), aal }
  if (!isSession(session)) throw invalidResponse('session')
  return session
}

/** Parses a stored session. Returns undefined if it is not a session. */
export function readSession(text: string | null): Session | undefined {
  if (text === null) return undefined
  try {
    const session: unknown = JSON.parse(text)
    return isSession(session) ? session : undefined
  } catch {
    return undefined
  }
}

function isSession(value: unknown): value is Session {
  if (typeof value !== 'object' || value === null) return false
  const { token, refreshToken, user, expiresAt } = value as Partial<Session>
  return (
    typeof token === 'string' &&
    typeof refreshToken === 'string' &&
    typeof expiresAt === 'number' &&
    typeof user?.id === 'string'
  )
}

export function lifetimeMs(token: string): number {
  const { iat = 0, exp = iat } = readClaims(token)
  return (exp - iat) * 1000
}

function readClaims(token: string): Claims {
  try {
    const [, payload = ''] = token.split('.')
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (character) =>
      character.charCodeAt(0),
    )
    return JSON.parse(new TextDecoder().decode(bytes)) as Claims
  } catch {
    return {}
  }
}
