import type { Notifications, WatchHandle } from '../../../database/notifications/notifications.ts'
import type { Sql } from '../../../database/sql.ts'
import type { TokenVerifier, UserIdentity, Verdict } from '../../../http/access/identity.ts'
import { Lru } from '../../../lib/lru.ts'
import { hashToken, isToken } from '../../../lib/tokens.ts'
import { type OpenedToken, TokenLookups } from './lookups.ts'

/**
 * Age of the last version read after which every token is looked up. A node that is cut off must not accept
 * revoked tokens.
 */
const staleMs = 900
/** Maximum number of cached tokens. Others are looked up. */
const cacheLimit = 10_000

/** Kind of opaque token. */
export interface OpaqueTokenKind<Opened extends OpenedToken> {
  /** Prefix of the tokens. */
  readonly prefix: string
  /** Topic of the notifications of changes. */
  readonly topic: string
  /** Query for a number that changes whenever the access of a token may change. */
  readonly version: Sql
  /** Returns the active tokens among the hashes, by one statement. */
  readonly open: (hashes: readonly string[]) => Promise<readonly Opened[]>
  /** Returns the milliseconds left at the lookup, by the database clock, or null for a token that does not expire. */
  readonly lifetimeOf: (opened: Opened) => number | null
  readonly identify: (opened: Opened) => UserIdentity
  /** Listener that runs at each use. @param now by `performance.now()` */
  readonly onUse?: (opened: Opened, now: number) => void
}

interface CachedToken<Opened> {
  readonly opened: Opened
  readonly verdict: Verdict
  /** Expiry by `performance.now()`, because the clock of a node may be wrong. */
  readonly expiresAt: number
}

const refuse: Verdict = { refusal: 'invalid' }

/** Verifier of opaque tokens of one kind, without a query for cached ones. */
export class OpaqueTokens<Opened extends OpenedToken> implements TokenVerifier {
  readonly #kind: OpaqueTokenKind<Opened>
  readonly #lookups: TokenLookups<Opened>
  readonly #notifications: Notifications
  readonly #handle: WatchHandle
  #valid = new Lru<string, CachedToken<Opened>>(cacheLimit)
  /** Separate cache, so that invented tokens evict no valid ones. */
  #invalid = new Lru<string, true>(cacheLimit)
  /** Generation of the cache. Each change begins a new one. */
  #generation = 0

  constructor(kind: OpaqueTokenKind<Opened>, notifications: Notifications) {
    this.#kind = kind
    this.#lookups = new TokenLookups(kind.open)
    this.#notifications = notifications
    const { topic, version } = kind
    this.#handle = notifications.watch({ topic, version, onChange: () => this.#clear() })
  }

  recognizes(token: string): boolean {
    return token.startsWith(this.#kind.prefix)
  }

  verify(token: string): Verdict | Promise<Verdict> {
    if (performance.now() - this.#handle.currentAt < staleMs) {
      const cached = this.#valid.get(token)
      if (cached !== undefined) return this.#use(cached)
      if (this.#invalid.get(token) === true) return refuse
    }
    // A mistyped token causes no query.
    if (!isToken(this.#kind.prefix, token)) return refuse
    return this.#lookUp(token)
  }

  /**
   * Clears the cache after the commit of a change. The change applies on this node at once, on the others
   * within a second.
   */
  change(): void {
    this.#clear()
    this.#notifications.announce(this.#kind.topic)
  }

  async #lookUp(token: string): Promise<Verdict> {
    const generation = this.#generation
    const requestedAt = performance.now()
    const opened = await this.#lookups.find(hashToken(token).toString('hex'))
    // A result from before a change must not be cached after it.
    const isCurrent = generation === this.#generation
    if (opened === undefined) {
      if (isCurrent) this.#invalid.set(token, true)
      return refuse
    }
    const { lifetimeOf, identify } = this.#kind
    const verdict = { identity: identify(opened) }
    const cached = {
      opened,
      verdict,
      expiresAt: requestedAt + (lifetimeOf(opened) ?? Number.POSITIVE_INFINITY),
    }
    if (isCurrent) this.#valid.set(token, cached)
    return this.#use(cached)
  }

  #use({ opened, verdict, expiresAt }: CachedToken<Opened>): Verdict {
    const now = performance.now()
    if (now >= expiresAt) return refuse
    this.#kind.onUse?.(opened, now)
    return verdict
  }

  #clear(): void {
    this.#generation += 1
    this.#valid = new Lru(cacheLimit)
    this.#invalid = new Lru(cacheLimit)
  }
}
