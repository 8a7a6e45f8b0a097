import type { Logger } from 'pino'
import type { Notifications, WatchHandle } from '../../../database/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { TokenVerifier, UserIdentity, Verdict } from '../../../http/identity.ts'
import type { Clock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import { Lru } from '../../../lib/lru.ts'
import { hashToken, isToken } from '../../../lib/tokens.ts'
import { KeyLookups } from './lookups.ts'
import { type OpenedKey, saveLastUses } from './queries.ts'
import { apiKeyPrefix } from './token.ts'

const topic = 'api_keys'
/** Without news for so long, keys are looked up each time: a node that is cut off must not believe revoked ones. */
const staleMs = 900
/** Keys in memory; others are looked up. */
const knownLimit = 10_000
/** How often it is written when keys were used. */
const saveMs = 2000

interface Known {
  readonly keyId: string
  readonly verdict: Verdict
  readonly expiresAtMs: number
}

const refuse: Verdict = { refusal: 'invalid' }

/** Recognizes API keys, without a query for those in memory. */
export class ApiKeyVerifier implements TokenVerifier {
  readonly #database: SystemDatabase
  readonly #clock: Clock
  readonly #log: Logger
  readonly #lookups: KeyLookups
  readonly #notifications: Notifications
  readonly #handle: WatchHandle
  #known = new Lru<string, Known>(knownLimit)
  /** Apart, so that made up ones push out none that are good. */
  #unknown = new Lru<string, true>(knownLimit)
  /** Of the answers in memory; another one begins with each change. */
  #generation = 0
  /** When keys were used that is not written yet, in milliseconds since 1970. */
  #used = new Map<string, number>()
  #saving: NodeJS.Timeout | undefined

  constructor(database: SystemDatabase, clock: Clock, notifications: Notifications, log: Logger) {
    this.#database = database
    this.#clock = clock
    this.#log = log
    this.#lookups = new KeyLookups(database)
    this.#notifications = notifications
    this.#handle = notifications.watch({
      topic,
      version: sql`select version from basalt.api_key_version`,
      onChange: () => this.#forget(),
    })
  }

  recognizes(token: string): boolean {
    return token.startsWith(apiKeyPrefix)
  }

  verify(token: string): Verdict | Promise<Verdict> {
    if (performance.now() - this.#handle.currentAt < staleMs) {
      const known = this.#known.get(token)
      if (known !== undefined) return this.#use(known)
      if (this.#unknown.get(token) === true) return refuse
    }
    // A mistyped one costs no query.
    if (!isToken(apiKeyPrefix, token)) return refuse
    return this.#look(token)
  }

  /** After the commit of a change: in force on this node at once, on the others within a second. */
  change(): void {
    this.#forget()
    this.#notifications.announce(topic)
  }

  start(): void {
    this.#saving = setInterval(() => void this.#save(), saveMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#saving)
    await this.#save()
  }

  async #look(token: string): Promise<Verdict> {
    const generation = this.#generation
    const key = await this.#lookups.find(hashToken(token).toString('hex'))
    // What was read before a change must not be remembered after it.
    const isCurrent = generation === this.#generation
    if (key === undefined) {
      if (isCurrent) this.#unknown.set(token, true)
      return refuse
    }
    const known = {
      keyId: key.id,
      verdict: { identity: describeIdentity(key) },
      expiresAtMs: key.expires_at_ms ?? Number.POSITIVE_INFINITY,
    }
    if (isCurrent) this.#known.set(token, known)
    return this.#use(known)
  }

  #use({ keyId, verdict, expiresAtMs }: Known): Verdict {
    const now = this.#clock.now().getTime()
    if (now >= expiresAtMs) return refuse
    this.#used.set(keyId, now)
    return verdict
  }

  #forget(): void {
    this.#generation += 1
    this.#known = new Lru(knownLimit)
    this.#unknown = new Lru(knownLimit)
  }

  async #save(): Promise<void> {
    if (this.#used.size === 0) return
    const used = this.#used
    this.#used = new Map()
    try {
      await saveLastUses(this.#database, used)
    } catch (error) {
      // There are no more of them than keys.
      for (const [id, at] of used) this.#used.set(id, Math.max(at, this.#used.get(id) ?? 0))
      this.#log.warn({ reason: messageOf(error) }, 'failed to save when API keys were used; retrying in 2 s')
    }
  }
}

/** A key acts as its owner, as one who has passed one factor. */
function describeIdentity(key: OpenedKey): UserIdentity {
  const { id, user_id: userId, app_id: appId, scope, allowed_tables: tables } = key
  const email = key.email ?? ''
  return {
    kind: 'user',
    appId,
    keyId: id,
    userId,
    email,
    sessionId: undefined,
    aal: 'aal1',
    amr: [],
    isAnonymous: key.is_anonymous,
    issuedAt: undefined,
    scope: {
      kind: 'caller',
      userId,
      email,
      isEmailVerified: key.is_email_verified,
      aal: 'aal1',
      isAnonymous: key.is_anonymous,
      sessionId: '',
      grant: {
        mayWrite: scope !== 'readonly',
        tables: tables.length === 0 ? undefined : new Set(tables),
      },
    },
    appLimit:
      key.rate_limit === 0
        ? undefined
        : { requests: key.rate_limit, windowSeconds: key.rate_limit_window_seconds },
  }
}
