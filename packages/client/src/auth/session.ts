import { notTheAnswer } from '../answer.ts'
import { randomId } from '../random-id.ts'

/** A user as the server describes it. */
export interface User {
  readonly id: string
  /** Empty without one. */
  readonly email: string
  readonly emailVerified: boolean
  readonly phone?: string
  readonly is_anonymous: boolean
  readonly linked_at?: string
  readonly createdAt: string
  readonly updatedAt: string
}

/** What a sign-in answers. */
export interface Tokens {
  readonly token: string
  readonly refreshToken: string
  readonly user: User
}

/** A signed-in user. */
export interface Session extends Tokens {
  /** By the clock of this machine, in milliseconds since 1970. */
  readonly expiresAt: number
  /** `aal2` after a second factor. */
  readonly aal: string
}

/** Where a session is kept. */
export interface SessionStorage {
  /** Names the session among tabs; tabs with different ones do not share theirs. */
  readonly name: string
  load(): string | null | Promise<string | null>
  save(session: string | null): void | Promise<void>
  /** Calls back when another tab, or anything else, has saved one; as long as the page is open. */
  watch?(changed: () => void): void
}

/** Until the page is left. */
export function memorySession(): SessionStorage {
  let kept: string | null = null
  return {
    name: `basalt.session.${randomId()}`,
    load: () => kept,
    save(session) {
      kept = session
    },
  }
}

/**
 * In `localStorage`, for all tabs; until the page is left where that is full or denied. A script that gets into the page can
 * read it; where pages are rendered by a server of your own, {@link cookieSession} keeps tokens from scripts.
 */
export function localSession(name = 'basalt.session'): SessionStorage {
  /** What the storage has not taken. */
  let kept: string | null = null
  return {
    name,
    load() {
      try {
        return localStorage.getItem(name) ?? kept
      } catch {
        return kept
      }
    },
    save(session) {
      kept = null
      try {
        // In one step: what is removed first looks like a sign-out to other tabs.
        if (session === null) localStorage.removeItem(name)
        else localStorage.setItem(name, session)
      } catch {
        kept = session
        removeOutdated(name)
      }
      // A page gets no storage event for what it stores itself.
      globalThis.dispatchEvent?.(new Event(name))
    },
    watch(changed) {
      const listener = ({ key }: StorageEvent) => {
        // Null: everything was cleared.
        if (key === name || key === null) changed()
      }
      // Where there is none, there are no other tabs.
      globalThis.addEventListener?.('storage', listener)
      globalThis.addEventListener?.(name, changed)
    },
  }
}

/** Of a session that could not be replaced, another tab would use the refresh token twice, which ends the session. */
function removeOutdated(name: string): void {
  try {
    localStorage.removeItem(name)
  } catch {
    // Denied: there is none.
  }
}

/** The cookies of one request of a server that renders pages. */
export interface Cookies {
  get(name: string): string | undefined | Promise<string | undefined>
  set(name: string, value: string, attributes: CookieAttributes): void | Promise<void>
}

export interface CookieAttributes {
  readonly path: '/'
  readonly httpOnly: true
  readonly secure: boolean
  readonly sameSite: 'lax'
  /** Seconds; 0 removes the cookie. */
  readonly maxAge: number
}

export interface CookieOptions {
  readonly name?: string | undefined
  /** False for pages without TLS; true unless given. */
  readonly secure?: boolean | undefined
  /** As `auth.refresh_token_duration`; a week unless given. */
  readonly maxAgeSeconds?: number | undefined
}

/** In a cookie that scripts cannot read, for a server that renders pages: one `createAuth` for each request. */
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
        // Anybody can have made it.
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

/** Claims of an access token. The server verifies it; here it only says when to renew it. */
interface Claims {
  readonly iat?: number
  readonly exp?: number
  readonly aal?: string
}

/**
 * @param now in milliseconds: what counts is how long the token lasts, as the clocks may differ
 * @throws BasaltError for an answer that is no session: stored, it would end the one that is
 */
export function openSession(tokens: Tokens, now: number): Session {
  const { token, refreshToken, user } = { ...tokens }
  const { aal = 'aal1' } = readClaims(token)
  const session = { token, refreshToken, user, expiresAt: now + lifetimeMs(token), aal }
  if (!isSession(session)) throw notTheAnswer('session')
  return session
}

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
