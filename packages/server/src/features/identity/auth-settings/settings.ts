import type { Notifications, WatchHandle } from '../../../database/notifications/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { type Answered, component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { recordAudit } from '../../operations/audit/index.ts'

/** Switches of the sign-in methods at run time. */
export const AuthToggles = component(
  'AuthSettings',
  Type.Object({
    magic_link_enabled: Type.Boolean(),
    sms_enabled: Type.Boolean(),
    email_mfa_enabled: Type.Boolean(),
    anonymous_auth_enabled: Type.Boolean(),
    totp_enabled: Type.Boolean(),
    webauthn_enabled: Type.Boolean(),
  }),
)
export type AuthToggles = Answered<typeof AuthToggles>

const toggleNames = Object.keys(AuthToggles.properties) as readonly (keyof AuthToggles)[]
const key = 'auth'
const topic = 'auth_settings'

/** Stored switches of the sign-in methods. Without stored ones, those of the configuration apply. */
export class AuthSettings {
  readonly #database: SystemDatabase
  readonly #configured: AuthToggles
  readonly #notifications: Notifications
  readonly #watch: WatchHandle
  #current: AuthToggles

  constructor(database: SystemDatabase, configured: AuthToggles, notifications: Notifications) {
    this.#database = database
    this.#configured = pickToggles((name) => configured[name])
    this.#current = this.#configured
    this.#notifications = notifications
    this.#watch = notifications.watch({
      topic,
      // The version of the row changes with every update, even one that writes the same value.
      version: sql`select jsonb_build_array(value, xmin) from basalt.settings where key = ${key}`,
      onChange: (version) => this.#replace(version),
    })
  }

  get current(): AuthToggles {
    return this.#current
  }

  /** Replaces all switches. A missing one is turned off. */
  async replace(on: Partial<AuthToggles>, origin: RequestOrigin): Promise<AuthToggles> {
    const toggles = pickToggles((name) => on[name] === true)
    await this.#database.transaction(async (transaction) => {
      await transaction.count(sql`
        insert into basalt.settings (key, value) values (${key}, ${JSON.stringify(toggles)}::jsonb)
        on conflict (key) do update set value = excluded.value, updated_at = now()`)
      await recordAudit(transaction, {
        actor: 'admin',
        action: 'auth_settings.replace',
        detail: toggles,
        origin,
      })
    })
    this.#notifications.announce(topic)
    // Another node may have replaced them in the meantime. The watch reads the current ones.
    await this.#watch.poll()
    return toggles
  }

  #replace(version: string | null): void {
    if (version === null) {
      this.#current = this.#configured
      return
    }
    const [value]: [Partial<Record<string, unknown>>] = JSON.parse(version)
    this.#current = pickToggles((name) => value[name] === true)
  }
}

function pickToggles(isOn: (name: keyof AuthToggles) => boolean): AuthToggles {
  return Object.fromEntries(toggleNames.map((name) => [name, isOn(name)])) as unknown as AuthToggles
}
