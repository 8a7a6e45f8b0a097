import type { Logger } from 'pino'
import type { Notifications } from '../../../database/notifications/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { TokenVerifier, Verdict } from '../../../http/access/identity.ts'
import { messageOf } from '../../../lib/errors.ts'
import { describeProgram, OpaqueTokens } from '../opaque-tokens/index.ts'
import { type OpenedKey, openApiKeys, saveLastUses } from './opened-key.ts'
import { apiKeyPrefix } from './token.ts'

/** Interval between writes of the times at which keys were used. */
const saveMs = 2000

/** Verifier of API keys, without a query for cached keys. */
export class ApiKeyVerifier implements TokenVerifier {
  readonly #database: SystemDatabase
  readonly #log: Logger
  readonly #tokens: OpaqueTokens<OpenedKey>
  /** Unsaved times at which keys were used, by `performance.now()`. */
  #used = new Map<string, number>()
  #saving: NodeJS.Timeout | undefined

  constructor(database: SystemDatabase, notifications: Notifications, log: Logger) {
    this.#database = database
    this.#log = log
    this.#tokens = new OpaqueTokens(
      {
        prefix: apiKeyPrefix,
        topic: 'api_keys',
        version: sql`select version from basalt.api_key_version`,
        open: (hashes) => openApiKeys(database, hashes),
        lifetimeOf: (key) => key.expires_in_ms,
        identify: (key) => describeProgram(key, key.id),
        onUse: (key, now) => this.#used.set(key.id, now),
      },
      notifications,
    )
  }

  recognizes(token: string): boolean {
    return this.#tokens.recognizes(token)
  }

  verify(token: string): Verdict | Promise<Verdict> {
    return this.#tokens.verify(token)
  }

  /**
   * Clears the cache after the commit of a change. The change applies on this node at once, on the others
   * within a second.
   */
  change(): void {
    this.#tokens.change()
  }

  start(): void {
    this.#saving = setInterval(() => void this.#save(), saveMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#saving)
    await this.#save()
  }

  async #save(): Promise<void> {
    if (this.#used.size === 0) return
    const used = this.#used
    this.#used = new Map()
    try {
      const now = performance.now()
      await saveLastUses(this.#database, new Map([...used].map(([id, at]) => [id, now - at])))
    } catch (error) {
      // The map stays bounded, because it has at most one entry per key.
      for (const [id, at] of used) this.#used.set(id, Math.max(at, this.#used.get(id) ?? 0))
      this.#log.warn({ reason: messageOf(error) }, 'failed to save when API keys were used; retrying in 2 s')
    }
  }
}
