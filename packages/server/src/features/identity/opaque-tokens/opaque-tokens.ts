import type { Notifications, WatchHandle } from '../../../database/notifications/notifications.ts'
import type { Sql } from '../../../database/sql.ts'
import type { TokenVerifier, UserIdentity, Verdict } from '../../../http/access/identity.ts'
import { Lru } from '../../../lib/lru.ts'
import { hashToken, isToken } from '../../../lib/tokens.ts'
import { type OpenedToken, TokenLookups } from './lookups.ts'

/** Without a current version for so long, tokens are looked up each time: a node that is cut off must not accept revoked ones. */
const staleMs = 900
/** Tokens in memory; others are looked up. */
const knownLimit = 10_000

/** One kind of opaque token. */
export interface OpaqueTokenKind<Opened extends OpenedToken> {
  /** How a token begins. */
  readonly prefix: string
  /** Topic of the notifications of changes. */
  readonly topic: string
  /** Selects a number that changes with whatever decides what tokens open. */
  readonly version: Sql
  /** Answers those of the hashes that are in force, by one statement. */
  readonly open: (hashes: readonly string[]) => Promise<readonly Opened[]>
  /** Milliseconds left when it was looked up, by the clock of the database; null: it does not expire. */
  readonly lifetimeOf: (opened: Opened) => number | null
  readonly identify: (opened: Opened) => UserIdentity
  /** @param now by `performance.now()` */
  readonly onUse?: (opened: Opened, now: number) => void
}

interface Known<Opened> {
  readonly opened: Opened
  readonly verdict: Verdict
  /** By `performance.now()`: the clock of a node may be wrong. */
  readonly expiresAt: number
}

const refuse: Verdict = { refusal: 'invalid' }

/** Verifies opaque tokens of one kind, without a query for those in memory. */
export class OpaqueTokens<Opened extends OpenedToken> implements TokenVerifier {
  readonly #kind: OpaqueTokenKind<Opened>
  readonly #lookups: TokenLookups<Opened>
  readonly #notifications: Notifications
  readonly #handle: WatchHandle
  #known = new Lru<string, Known<Opened>>(knownLimit)
  /** Apart, so that made-up ones evict none that are good. */
  #unknown = new Lru<string, true>(knownLimit)
  /** Of the answers in memory; each change begins another one. */
  #generation = 0

  constructor(kind: OpaqueTokenKind<Opened>, notifications: Notifications) {
    this.#kind = kind
    this.#lookups = new TokenLookups(kind.open)
    this.#notifications = notifications
    const { topic, version } = kind
    this.#handle = notifications.watch({ topic, version, onChange: () => this.#forget() })
  }

  recognizes(token: string): boolean {
    return token.startsWith(this.#kind.prefix)
  }

  verify(token: string): Verdict | Promise<Verdict> {
    if (performance.now() - this.#handle.currentAt < staleMs) {
      const known = this.#known.get(token)
      if (known !== undefined) return this.#use(known)
      if (this.#unknown.get(token) === true) return refuse
    }
    // A mistyped one costs no query.
    if (!isToken(this.#kind.prefix, token)) return refuse
    return this.#look(token)
  }

  /** After the commit of a change: in force on this node at once, on the others within a second. */
  change(): void {
    this.#forget()
    this.#notifications.announce(this.#kind.topic)
  }

  async #look(token: string): Promise<Verdict> {
    const generation = this.#generation
    const askedAt = performance.now()
    const opened = await this.#lookups.find(hashToken(token).toString('hex'))
    // What was read before a change must not be remembered after it.
    const isCurrent = generation === this.#generation
    if (opened === undefined) {
      if (isCurrent) this.#unknown.set(token, true)
      return refuse
    }
    const { lifetimeOf, identify } = this.#kind
    const verdict = { identity: identify(opened) }
    const known = { opened, verdict, expiresAt: askedAt + (lifetimeOf(opened) ?? Number.POSITIVE_INFINITY) }
    if (isCurrent) this.#known.set(token, known)
    return this.#use(known)
  }

  #use({ opened, verdict, expiresAt }: Known<Opened>): Verdict {
    const now = performance.now()
    if (now >= expiresAt) return refuse
    this.#kind.onUse?.(opened, now)
    return verdict
  }

  #forget(): void {
    this.#generation += 1
    this.#known = new Lru(knownLimit)
    this.#unknown = new Lru(knownLimit)
  }
}
