import { BasaltError, isBasaltError } from '../errors.ts'
import { callEach } from '../listeners.ts'
import type { TokenSource, Transport } from '../transport.ts'
import {
  lifetimeMs,
  openSession,
  readSession,
  type Session,
  type SessionStorage,
  type Tokens,
} from './session.ts'

/**
 * Remaining lifetime below which a token is renewed, because it has to last as long as the request. A token that lives for less
 * than a minute is renewed after half of its lifetime.
 */
const marginMs = 30_000
/**
 * Longest wait for the refresh lock. It is longer than a refresh takes. A suspended tab that holds the lock must not block the
 * others.
 */
const lockMs = 8000

/** Session of this tab and of all tabs that share its storage. */
export interface SessionStore extends TokenSource {
  /** Signed-in session; undefined if no user is signed in or the session has not been loaded yet. */
  readonly current: Session | undefined
  /** Loads the stored session. */
  load(): Promise<Session | undefined>
  /** Stores the session of these tokens. */
  set(tokens: Tokens): Promise<Session>
  /** Removes the session and returns it. */
  clear(): Promise<Session | undefined>
  /** Refreshes the session now. */
  refresh(): Promise<Session | undefined>
  /**
   * Calls the listener after each change of the session, in whichever tab it happened. No lock is held during the call.
   * @returns a function that removes the listener
   */
  subscribe(listener: () => void): () => void
}

export function createSessionStore(
  storage: SessionStorage,
  transport: Pick<Transport, 'request'>,
  now: () => number,
): SessionStore {
  let current: Session | undefined
  let loading: Promise<Session | undefined> | undefined
  let refreshing: Promise<Session | undefined> | undefined
  /** Refreshed session that could not be stored. The refresh token of the stored one has already been used. */
  let unsaved: Session | undefined
  const listeners = new Set<() => void>()

  function change(session: Session | undefined): void {
    const isSame = session?.token === current?.token && session?.refreshToken === current?.refreshToken
    current = session
    loading = Promise.resolve(session)
    if (!isSame) callEach(listeners, (listener) => listener())
  }

  // The session stays if the storage cannot be read.
  storage.watch?.(() => {
    unsaved = undefined
    read().then(change, () => undefined)
  })

  async function read(): Promise<Session | undefined> {
    return unsaved ?? readSession(await storage.load())
  }

  function load(): Promise<Session | undefined> {
    loading ??= read().then(
      (session) => {
        change(session)
        return session
      },
      (error) => {
        loading = undefined
        throw error
      },
    )
    return loading
  }

  async function save(session: Session | undefined): Promise<void> {
    await storage.save(session === undefined ? null : JSON.stringify(session))
    unsaved = undefined
  }

  const isFresh = ({ token, expiresAt }: Session): boolean =>
    expiresAt - now() > Math.min(marginMs, lifetimeMs(token) / 2)

  /**
   * Refreshes the stored session. One tab sends the request, and the others read the session that it stored.
   * @param rejected token that the server no longer accepts
   */
  async function refreshStored(rejected: string | undefined): Promise<Session | undefined> {
    const stored = await read()
    if (stored === undefined || (stored.token !== rejected && isFresh(stored))) return stored
    try {
      const body = { refreshToken: stored.refreshToken }
      // For ten seconds the server returns the same successor if the token is sent again.
      const tokens = await transport.request('POST', 'auth/refresh', {
        body,
        token: null,
        isRepeatable: true,
        retryForMs: 9000,
      })
      // A sign-out or sign-in may have come first, in this tab or another one.
      const latest = await read()
      if (latest?.refreshToken !== stored.refreshToken) return latest
      const session = openSession(tokens as Tokens, now())
      unsaved = session
      await save(session)
      return session
    } catch (error) {
      // A proxy or a captive portal may also respond with 401.
      if (!isBasaltError(error, 'invalid_refresh_token', 'email_not_verified')) throw error
      const latest = await read()
      if (latest?.refreshToken !== stored.refreshToken) return latest
      // The refresh token stays valid while the email address is not verified.
      if (error.status === 403) throw error
      await save(undefined)
      return undefined
    }
  }

  function refresh(rejected = current?.token): Promise<Session | undefined> {
    refreshing ??= withLock(`${storage.name}.refresh`, () => refreshStored(rejected)).then(
      (session) => {
        refreshing = undefined
        change(session)
        return session
      },
      (error) => {
        refreshing = undefined
        throw error
      },
    )
    return refreshing
  }

  return {
    get current() {
      return current
    },
    load,
    identity: () => current?.user.id,
    async set(tokens) {
      const session = openSession(tokens, now())
      await save(session)
      change(session)
      return session
    },
    async clear() {
      // Another tab may have refreshed the session or signed in since this tab read it.
      const ended = (await read()) ?? current
      await save(undefined)
      change(undefined)
      return ended
    },
    refresh: () => refresh(),
    async token() {
      const session = current ?? (await load())
      if (session === undefined || isFresh(session)) return session?.token
      return await refresh().then(
        (renewed) => renewed?.token,
        (error) => {
          // A token that may be rejected is better than none until it expires.
          if (error instanceof BasaltError && session.expiresAt > now()) return session.token
          throw error
        },
      )
    },
    renew: async (rejected) => (await refresh(rejected))?.token,
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/**
 * Runs work while holding a lock across tabs. Runs it without the lock if locks are unsupported or denied, or the lock is not
 * free in time.
 */
async function withLock<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const locks = globalThis.navigator?.locks
  if (locks === undefined) return await work()
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), lockMs)
  let hasStarted = false
  try {
    return await locks.request(name, { signal: deadline.signal }, () => {
      hasStarted = true
      clearTimeout(timer)
      return work()
    })
  } catch (error) {
    // Browsers deny locks to frames without an origin and if storage is blocked.
    if (hasStarted) throw error
    return await work()
  } finally {
    clearTimeout(timer)
  }
}
