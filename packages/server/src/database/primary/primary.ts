import pg from 'pg'
import { messageOf } from '../../lib/errors.ts'
import { whenLate } from '../../lib/timer.ts'
import type { Answer, Call, Receiver } from '../connection/message.ts'
import { StatementFailed } from '../connection/message.ts'
import { describeHost, type Host, type SessionTarget } from '../database-url.ts'
import { ConnectionLost } from '../errors/failures.ts'
import { type ServerState, stateCall, stateOf } from './server-state.ts'

/** Session on a server, as far as the search for the primary uses it. */
export interface ServerSession {
  /** True if the server has reported that it is a standby, or that its transactions are read-only by default. */
  readonly isReadOnly: boolean
  send(calls: readonly Call[]): Promise<readonly Answer[]>
  onClose(listener: () => void): void
  close(): Promise<void>
  destroy(): void
}

/** Servers of a URL, one of which is the primary. */
export interface Servers<Session extends ServerSession> {
  readonly hosts: readonly Host[]
  readonly target: SessionTarget
  /** Time within which a server must respond. */
  readonly timeoutMs: number
  /** Opens a session on a host. @throws ConnectionLost */
  readonly openAt: (host: Host) => Promise<Session>
}

type Log = (message: string, detail: object) => void

/** Cluster and timeline of a primary. */
interface History {
  readonly system: string
  readonly timeline: number
}

/** Memory about the servers of one URL. */
interface Search {
  /** Host that was the primary; it is tried first. */
  preferred?: string
  failures: number
  /** Moment before which no further search begins, and the failure of the last one. */
  retryAt: number
  failure?: ConnectionLost
}

/** Server of a session. */
interface SessionServer {
  readonly host: string
  readonly search: string
  readonly timeline: number | undefined
}

/** Delay before the next search after a failed one, which doubles up to the longest, less a random half. */
const firstRetryMs = 50
const longestRetryMs = 1000

/**
 * Knowledge of this process about the primary: the host that was it, and the newest timeline of the cluster. A session
 * on an older timeline belongs to a former primary. It is not used, and open ones are closed as soon as a newer timeline
 * is known.
 */
export class Primary {
  readonly #log: Log
  readonly #searches = new Map<string, Search>()
  readonly #sessions = new Map<ServerSession, SessionServer>()
  #newest: History | undefined
  /** False where the login may not read the timeline, or the server has none. */
  #readsHistory = true
  #hasChanged = false
  #onReadOnly: (() => void) | undefined

  constructor(log: Log = () => undefined) {
    this.#log = log
  }

  /** True while a session is open whose server is read-only. */
  get hasReadOnlySessions(): boolean {
    return [...this.#sessions.keys()].some(({ isReadOnly }) => isReadOnly)
  }

  /** Sets the handler of writes that a server rejected as read-only. */
  onReadOnly(handler: () => void): void {
    this.#onReadOnly = handler
  }

  /** Handles a write that a server rejected as read-only. */
  reportReadOnly(): void {
    this.#onReadOnly?.()
  }

  /**
   * Opens a session on the primary. Without a choice of hosts, and before any change of the primary, this takes no
   * further round trip.
   *
   * @throws ConnectionLost with the reason of each host
   */
  async open<Session extends ServerSession>(servers: Servers<Session>): Promise<Session> {
    const { hosts, target, openAt } = servers
    const key = keyOf(hosts)
    const [only] = hosts
    if (hosts.length === 1 && only !== undefined && target === 'any' && !this.#hasChanged) {
      const session = await openAt(only)
      this.#track(session, { host: describeHost(only), search: key, timeline: undefined })
      return session
    }
    const search = this.#searchOf(key)
    if (search.failure !== undefined && performance.now() < search.retryAt) throw search.failure
    // The first session of a process compares all servers: of two primaries the newer one counts.
    if (search.preferred === undefined && hosts.length > 1) await this.compare(servers)
    try {
      const session = await this.#findPrimary(servers, search.preferred)
      search.failures = 0
      delete search.failure
      return session
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
      if (hosts.length > 1 && !(error.cause instanceof pg.DatabaseError)) {
        const delayMs = Math.min(longestRetryMs, firstRetryMs * 2 ** search.failures)
        search.failures += 1
        search.retryAt = performance.now() + delayMs * (1 - Math.random() / 2)
        search.failure = error
      }
      throw error
    }
  }

  /**
   * Returns the check of a session: a message, which can be sent beside others, and its outcome. Returns undefined if the
   * session needs none.
   */
  checkOf(
    session: ServerSession,
  ): { message: Receiver & { calls: readonly Call[] }; outcome: Promise<void> } | undefined {
    const tracked = this.#sessions.get(session)
    if (tracked === undefined || tracked.timeline !== undefined || !this.#readsHistory) return undefined
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    // The message beside it may fail first.
    promise.catch(() => undefined)
    return {
      outcome: promise,
      message: {
        calls: [stateCall(true)],
        receive: (answers) => {
          try {
            const state = stateOf(answers)
            if (state.isStandby) {
              this.#dropStandby(tracked)
              throw this.#refuse(session, `${tracked.host} is a standby`)
            }
            this.#admit(session, tracked, state, false)
            resolve()
          } catch (error) {
            reject(error)
          }
        },
        fail: (error) => {
          if (error instanceof StatementFailed) this.#readsHistory = false
          resolve()
        },
      },
    }
  }

  /**
   * Compares the servers, and switches to a primary that is newer than the one in use. Read-only sessions are
   * closed if there is a writable primary, and those to a host that is a standby at once.
   *
   * @param skipsPreferred leaves out the host in use
   * @returns true if a writable primary was found
   */
  async compare(servers: Servers<ServerSession>, skipsPreferred = false): Promise<boolean> {
    const key = keyOf(servers.hosts)
    const search = this.#searchOf(key)
    const hosts = servers.hosts.filter((host) => !skipsPreferred || describeHost(host) !== search.preferred)
    const states = await Promise.all(hosts.map((host) => this.#stateAt(servers, host)))
    for (const found of states) {
      if (found?.state.isStandby === true) this.#dropStandby({ search: key, host: found.host })
    }
    const writable = states.filter(
      (found) => found !== undefined && !found.state.isStandby && !found.state.isReadOnly,
    )
    const [best] = writable
      .filter((found) => found !== undefined)
      .filter(
        ({ state }) =>
          this.#newest === undefined || state.system === undefined || state.system === this.#newest.system,
      )
      .sort((one, other) => (other.state.timeline ?? 0) - (one.state.timeline ?? 0))
    if (best === undefined) return false
    const { host, state } = best
    const isNewer = this.#advance(state, host)
    const isInUse = writable.some((found) => found?.host === search.preferred)
    if (isNewer || (!isInUse && !skipsPreferred)) this.#prefer(key, host, state)
    if (!skipsPreferred) {
      for (const session of [...this.#sessions.keys()]) if (session.isReadOnly) session.destroy()
    }
    return true
  }

  async #findPrimary<Session extends ServerSession>(
    servers: Servers<Session>,
    preferred: string | undefined,
  ): Promise<Session> {
    const { hosts, target, openAt } = servers
    const key = keyOf(hosts)
    const isFirst = (host: Host) => Number(describeHost(host) === preferred)
    const faults: { readonly host: string; readonly error: unknown }[] = []
    let readOnly:
      | { readonly session: Session; readonly host: string; readonly state: ServerState }
      | undefined
    for (const each of [...hosts].sort((one, other) => isFirst(other) - isFirst(one))) {
      const host = describeHost(each)
      try {
        const session = await openAt(each)
        const state = await this.#examine(session, servers.timeoutMs)
        if (state.isStandby) throw this.#refuse(session, 'is a standby')
        if (state.isReadOnly && (target === 'read-write' || readOnly !== undefined)) {
          throw this.#refuse(session, 'is read-only')
        }
        if (state.isReadOnly) {
          readOnly = { session, host, state }
          continue
        }
        this.#admit(session, { host, search: key }, state, hosts.length > 1)
        this.#prefer(key, host, state)
        readOnly?.session.destroy()
        return session
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        faults.push({ host, error })
      }
    }
    if (readOnly !== undefined) {
      this.#admit(readOnly.session, { host: readOnly.host, search: key }, readOnly.state, hosts.length > 1)
      return readOnly.session
    }
    throw failureOf(faults)
  }

  /** Returns the state of a host by a session of its own; undefined if it does not respond. */
  async #stateAt(
    { openAt, timeoutMs }: Servers<ServerSession>,
    host: Host,
  ): Promise<{ readonly host: string; readonly state: ServerState } | undefined> {
    try {
      const session = await openAt(host)
      const state = await this.#examine(session, timeoutMs)
      void session.close()
      return { host: describeHost(host), state }
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
      return undefined
    }
  }

  /** Reads the state of the session's server. @throws ConnectionLost; the session is then closed */
  async #examine(session: ServerSession, timeoutMs: number): Promise<ServerState> {
    const cancel = whenLate(timeoutMs, () => session.destroy())
    try {
      if (this.#readsHistory) {
        try {
          return stateOf(await session.send([stateCall(true)]))
        } catch (error) {
          if (!(error instanceof StatementFailed) || isEnding(error)) throw error
          this.#readsHistory = false
        }
      }
      return stateOf(await session.send([stateCall(false)]))
    } catch (error) {
      session.destroy()
      if (error instanceof ConnectionLost) throw error
      throw new ConnectionLost('the server does not tell its role', { cause: error })
    } finally {
      cancel()
    }
  }

  /** Admits a session, or closes it. @throws ConnectionLost if it is on a former primary, or in another cluster */
  #admit(
    session: ServerSession,
    { host, search }: Pick<SessionServer, 'host' | 'search'>,
    state: ServerState,
    isOneOfSeveral: boolean,
  ): void {
    const { system, timeline } = state
    const newest = this.#newest
    if (newest !== undefined && system !== undefined && timeline !== undefined) {
      if (system !== newest.system && isOneOfSeveral)
        throw this.#refuse(session, 'belongs to another cluster')
      if (system === newest.system && timeline < newest.timeline) {
        throw this.#refuse(
          session,
          `is a former primary: its timeline is ${timeline}, that of the cluster ${newest.timeline}`,
        )
      }
    }
    this.#track(session, { host, search, timeline })
    this.#advance(state, host)
  }

  /** Notes the timeline of a primary, and closes the sessions on an older one. @returns true if it is newer */
  #advance({ system, timeline }: ServerState, host: string): boolean {
    if (system === undefined || timeline === undefined) return false
    const before = this.#newest
    const isSame = before?.system === system
    if (isSame && before.timeline >= timeline) return false
    this.#newest = { system, timeline }
    if (before === undefined) return false
    this.#hasChanged = true
    this.#log('the primary has changed', { host, timeline })
    this.#drop((tracked) => tracked.timeline !== timeline)
    return true
  }

  #prefer(key: string, host: string, { timeline }: ServerState): void {
    const search = this.#searchOf(key)
    const before = search.preferred
    search.preferred = host
    search.failures = 0
    delete search.failure
    // Without timelines only the host shows a change.
    if (before === undefined || before === host || timeline !== undefined) return
    this.#hasChanged = true
    this.#log('the primary has changed', { host })
    this.#drop((tracked) => tracked.search === key && tracked.host !== host)
  }

  /**
   * Closes the sessions to a host that leads to a standby. A direct session ends before its server becomes a standby. A pooler
   * keeps it, and its next transaction may read old data there.
   */
  #dropStandby({ search, host }: Pick<SessionServer, 'host' | 'search'>): void {
    this.#drop((tracked) => tracked.search === search && tracked.host === host)
  }

  #drop(isOutdated: (tracked: SessionServer) => boolean): void {
    for (const [session, tracked] of [...this.#sessions]) if (isOutdated(tracked)) session.destroy()
  }

  #track(session: ServerSession, tracked: SessionServer): void {
    if (!this.#sessions.has(session)) session.onClose(() => this.#sessions.delete(session))
    this.#sessions.set(session, tracked)
  }

  #refuse(session: ServerSession, reason: string): ConnectionLost {
    session.destroy()
    return new ConnectionLost(reason)
  }

  #searchOf(key: string): Search {
    let search = this.#searches.get(key)
    if (search === undefined) {
      search = { failures: 0, retryAt: 0 }
      this.#searches.set(key, search)
    }
    return search
  }
}

function keyOf(hosts: readonly Host[]): string {
  return hosts.map(describeHost).join()
}

/** Returns true if the server ends the session. */
function isEnding({ error }: StatementFailed): boolean {
  return error.code?.startsWith('57P') === true
}

/**
 * Returns the failure of a search. Its cause is the rejection by a server that could be reached, such as that of a
 * login, or else the reasons of all hosts.
 */
function failureOf(faults: readonly { readonly host: string; readonly error: unknown }[]): ConnectionLost {
  const [first] = faults
  if (faults.length === 1 && first?.error instanceof ConnectionLost && first.error.cause !== undefined)
    return first.error
  const causes = faults.map(({ error }) =>
    error instanceof Error && error.cause !== undefined ? error.cause : error,
  )
  const rejection = causes.find(
    (cause) => cause instanceof pg.DatabaseError && !cause.code?.startsWith('57P'),
  )
  const reasons = faults.map(({ host }, index) => `${host} ${describeFault(causes[index])}`)
  return new ConnectionLost('no host is the primary', { cause: rejection ?? new Error(reasons.join('; ')) })
}

function describeFault(cause: unknown): string {
  if (cause instanceof ConnectionLost) return cause.message
  if (cause instanceof AggregateError) return `failed (${messageOf(cause.errors[0])})`
  return `failed (${messageOf(cause)})`
}
