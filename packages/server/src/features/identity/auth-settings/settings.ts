import type { Logger } from 'pino'
import type { Config } from '../../../config/schema.ts'
import { Poller } from '../../../database/poller.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { recordAudit } from '../../operations/audit/index.ts'

/** The ways to sign in that can be switched at run time. */
export const toggleNames = [
  'magic_link_enabled',
  'sms_enabled',
  'email_mfa_enabled',
  'anonymous_auth_enabled',
  'totp_enabled',
  'webauthn_enabled',
] as const

export type AuthToggles = Readonly<Record<(typeof toggleNames)[number], boolean>>

/** In force on every node within a second. */
const pollMs = 400
const key = 'auth'

/** The stored switches; where none are stored, those of the configuration. */
export class AuthSettings {
  readonly #database: SystemDatabase
  readonly #configured: AuthToggles
  readonly #poller: Poller
  #current: AuthToggles

  constructor(database: SystemDatabase, config: Config['auth'], log: Logger) {
    this.#database = database
    this.#configured = pickToggles((name) => config[name])
    this.#current = this.#configured
    const read = () => this.#read()
    this.#poller = new Poller({ what: 'the auth settings', everyMs: pollMs, read, log })
  }

  get current(): AuthToggles {
    return this.#current
  }

  /** Replaces all switches. */
  async replace(toggles: AuthToggles, address: string): Promise<AuthToggles> {
    await this.#database.transaction(async (transaction) => {
      await transaction.count(sql`
        insert into basalt.settings (key, value) values (${key}, ${JSON.stringify(toggles)}::jsonb)
        on conflict (key) do update set value = excluded.value, updated_at = now()`)
      await recordAudit(transaction, {
        actor: 'admin',
        action: 'auth_settings.replace',
        detail: toggles,
        address,
      })
    })
    this.#current = toggles
    return toggles
  }

  start(): Promise<void> {
    return this.#poller.start()
  }

  stop(): void {
    this.#poller.stop()
  }

  async #read(): Promise<void> {
    const before = this.#current
    const row = await this.#database.maybeOne<{ value: Partial<Record<string, unknown>> }>(
      sql`select value from basalt.settings where key = ${key}`,
    )
    // What was replaced here in the meantime is newer than what was read.
    if (this.#current !== before) return
    this.#current = row === undefined ? this.#configured : pickToggles((name) => row.value[name] === true)
  }
}

export function pickToggles(isOn: (name: keyof AuthToggles) => boolean): AuthToggles {
  return Object.fromEntries(toggleNames.map((name) => [name, isOn(name)])) as unknown as AuthToggles
}
