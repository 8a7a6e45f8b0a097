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

/** A token that ends sooner is renewed first: it has to last as long as the request. A short one lasts for half of its time. */
const marginMs = 30_000
/** Longer than a refresh takes. A tab that sleeps with the lock must not keep the others waiting. */
const lockMs = 8000

/** The session of this tab and of those that share its storage. */
export interface SessionStore extends TokenSource {
  /** Undefined when signed out, and until it was loaded. */
  readonly current: Session | undefined
  /** Loads what is stored. */
  load(): Promise<Session | undefined>
  set(tokens: Tokens): Promise<Session>
  /** @returns the session that it was */
  clear(): Promise<Session | undefined>
  refresh(): Promise<Session | undefined>
  /** Calls back after each change, in whichever tab it was made; no lock is held then. */
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
  /** Renewed, but not taken by the storage; the refresh token of the one there is used already. */
  let unsaved: Session | undefined
  const listeners = new Set<() => void>()

  function change(session: Session | undefined): void {
    const isSame = session?.token === current?.token && session?.refreshToken === current?.refreshToken
    current = session
    loading = Promise.resolve(session)
    if (!isSame) callEach(listeners, (listener) => listener())
  }

  // If the storage cannot be read, the session stays.
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

  const isGood = ({ token, expiresAt }: Session): boolean =>
    expiresAt - now() > Math.min(marginMs, lifetimeMs(token) / 2)

  /** Of all tabs one asks; the others find what it has saved. @param refused a token that is good no longer */
  async function refreshStored(refused: string | undefined): Promise<Session | undefined> {
    const stored = await read()
    if (stored === undefined || (stored.token !== refused && isGood(stored))) return stored
    try {
      const body = { refreshToken: stored.refreshToken }
      // Sent again, the token answers the same successor for ten seconds.
      const tokens = await transport.request('POST', 'auth/refresh', {
        body,
        token: null,
        isRepeatable: true,
      })
      // A sign-out or sign-in may have come first, here or in another tab.
      const latest = await read()
      if (latest?.refreshToken !== stored.refreshToken) return latest
      const session = openSession(tokens as Tokens, now())
      unsaved = session
      await save(session)
      return session
    } catch (error) {
      // Others refuse with a 401, too: a proxy, or a network that wants a sign-in of its own.
      if (!isBasaltError(error, 'invalid_refresh_token', 'email_not_verified')) throw error
      const latest = await read()
      if (latest?.refreshToken !== stored.refreshToken) return latest
      // A verified address is missing: the refresh token stays good.
      if (error.status === 403) throw error
      await save(undefined)
      return undefined
    }
  }

  function refresh(refused = current?.token): Promise<Session | undefined> {
    refreshing ??= withLock(`${storage.name}.refresh`, () => refreshStored(refused)).then(
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
      // Another tab may have refreshed it, or signed in, since this one looked.
      const ended = (await read()) ?? current
      await save(undefined)
      change(undefined)
      return ended
    },
    refresh: () => refresh(),
    async token() {
      const session = current ?? (await load())
      if (session === undefined || isGood(session)) return session?.token
      return await refresh().then(
        (renewed) => renewed?.token,
        (error) => {
          // Better a token that may be refused than none, as long as it lasts.
          if (error instanceof BasaltError && session.expiresAt > now()) return session.token
          throw error
        },
      )
    },
    renew: async (refused) => (await refresh(refused))?.token,
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** Runs the work alone among tabs, or without the lock where there is none, it is denied, or it is not free in time. */
async function withLock<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const locks = globalThis.navigator?.locks
  if (locks === undefined) return await work()
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), lockMs)
  let hasBegun = false
  try {
    return await locks.request(name, { signal: deadline.signal }, () => {
      hasBegun = true
      clearTimeout(timer)
      return work()
    })
  } catch (error) {
    // Frames without an origin, and where storage is blocked, are denied locks.
    if (hasBegun) throw error
    return await work()
  } finally {
    clearTimeout(timer)
  }
}
