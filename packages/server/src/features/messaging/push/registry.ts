import { createECDH } from 'node:crypto'
import type { Logger } from 'pino'
import type { Notifications, WatchHandle } from '../../../database/notifications/notifications.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import type { Outbound } from '../../../http/outbound.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import type { PushConfig } from './config.ts'
import { type Credentials, configuredCredentials, describeCredentials } from './credentials.ts'
import { type ProviderName, type PushProvider, providerNames } from './provider.ts'
import { createApns } from './providers/apns.ts'
import { createFcm } from './providers/fcm.ts'
import { createLogProvider } from './providers/log.ts'
import { createWebPush, readVapidKeys } from './providers/webpush.ts'

export interface RegistryDeps {
  readonly config: PushConfig
  readonly isDevelopment: boolean
  readonly database: SystemDatabase
  readonly notifications: Notifications
  readonly secrets: () => SecretBox
  readonly outbound: Outbound
  readonly clock: Clock
  /** Log of the process only, because it contains messages in development. */
  readonly output: Logger
  readonly log: Logger
}

const key = 'push_providers'
const topic = 'push_providers'

/** Providers with the credentials of the configuration, or those of administrators, on every node. */
export class PushProviders {
  readonly #deps: RegistryDeps
  readonly #configured: Partial<Credentials>
  #stored: Partial<Credentials> = {}
  #providers: ReadonlyMap<ProviderName, PushProvider> = new Map()
  readonly #watch: WatchHandle

  constructor(deps: RegistryDeps) {
    this.#deps = deps
    this.#configured = configuredCredentials(deps.config)
    this.#watch = deps.notifications.watch({
      topic,
      version: sql`select jsonb_build_array(value, xmin) from basalt.settings where key = ${key}`,
      onChange: (version) => this.#read(version),
    })
  }

  /** Makes the keys of Web Push at the first start, since browsers subscribe with the public one. */
  async start(): Promise<void> {
    if (this.#configured.webpush !== undefined) return
    const ecdh = createECDH('prime256v1')
    ecdh.generateKeys()
    // Without leading zeros the key may be shorter.
    const privateKey = Buffer.from(ecdh.getPrivateKey('hex').padStart(64, '0'), 'hex').toString('base64url')
    const value = this.#seal('webpush', { private_key: privateKey, subject: '' })
    await this.#deps.database.count(sql`
      insert into basalt.settings as s (key, value) values (${key}, ${value}::jsonb)
      on conflict (key) do update set value = excluded.value || s.value, updated_at = now()
      where not s.value ? 'webpush'`)
    await this.#watch.poll()
  }

  /** Returns a provider. Returns undefined without credentials, except for the log provider in development. */
  find(name: ProviderName): PushProvider | undefined {
    return this.#providers.get(name)
  }

  /** Key that browsers subscribe with, base64url. */
  get webPushKey(): string | undefined {
    const { webpush } = this.#credentials()
    return webpush && readVapidKeys(Buffer.from(webpush.private_key, 'base64url')).publicKey
  }

  list() {
    return providerNames.map((provider) => this.describe(provider))
  }

  describe(provider: ProviderName) {
    const source = this.#stored[provider] ? 'database' : this.#configured[provider] ? 'configuration' : null
    const details = describeCredentials(this.#credentials())[provider] ?? null
    return { provider, source, sends: this.#sends(provider), details } as const
  }

  /** Replaces the credentials of a provider. */
  async change<Name extends ProviderName>(
    name: Name,
    credentials: Credentials[Name],
    origin: RequestOrigin,
  ): Promise<void> {
    const value = this.#seal(name, credentials)
    await this.#write(
      'push_providers.update',
      name,
      origin,
      sql`
      insert into basalt.settings as s (key, value) values (${key}, ${value}::jsonb)
      on conflict (key) do update set value = s.value || excluded.value, updated_at = now()`,
    )
  }

  /** Resets a provider to the credentials of the configuration. Web Push gets new keys. */
  async reset(name: ProviderName, origin: RequestOrigin): Promise<void> {
    await this.#write(
      'push_providers.reset',
      name,
      origin,
      sql`
      update basalt.settings set value = value - ${name}::text, updated_at = now() where key = ${key}`,
    )
    if (name === 'webpush') await this.start()
  }

  close(): void {
    for (const provider of this.#providers.values()) provider.close()
  }

  async #write(action: string, target: string, origin: RequestOrigin, statement: Sql): Promise<void> {
    const { database, notifications } = this.#deps
    await database.transaction(async (transaction) => {
      await transaction.count(statement)
      await recordAudit(transaction, { actor: 'admin', action, target, detail: {}, origin })
    })
    notifications.announce(topic)
    await this.#watch.poll()
  }

  #seal(name: ProviderName, credentials: Credentials[ProviderName]): string {
    const sealed = this.#deps.secrets().seal(Buffer.from(JSON.stringify(credentials)), contextOf(name))
    return JSON.stringify({ [name]: { sealed } })
  }

  #read(version: string | null): void {
    // The text has the form that this class writes.
    const [value] = version === null ? [{}] : (JSON.parse(version) as [Record<string, { sealed: string }>])
    const opened = Object.entries(value ?? {}).flatMap(([name, { sealed }]) => {
      const content = this.#deps.secrets().open(sealed, contextOf(name))
      if (content !== undefined) return [[name, JSON.parse(content.toString('utf8'))]]
      this.#deps.log.error({ provider: name }, 'failed to decrypt the stored credentials of a push provider')
      return []
    })
    this.#stored = Object.fromEntries(opened)
    this.close()
    this.#providers = this.#build()
  }

  #credentials(): Partial<Credentials> {
    return { ...this.#configured, ...this.#stored }
  }

  #sends(name: ProviderName): 'provider' | 'log' | 'nothing' {
    if (this.#credentials()[name] !== undefined) return 'provider'
    return this.#deps.isDevelopment ? 'log' : 'nothing'
  }

  #build(): ReadonlyMap<ProviderName, PushProvider> {
    const { config, clock, outbound, output } = this.#deps
    const { fcm, apns, webpush } = this.#credentials()
    const providers = new Map<ProviderName, PushProvider>()
    for (const name of providerNames) {
      if (this.#sends(name) === 'log') providers.set(name, createLogProvider(name, output))
    }
    if (fcm !== undefined) providers.set('fcm', createFcm(fcm, config.fcm.base_url, outbound, clock))
    if (apns !== undefined) providers.set('apns', createApns(apns, config.apns.base_url, clock))
    if (webpush !== undefined) {
      const keys = readVapidKeys(Buffer.from(webpush.private_key, 'base64url'))
      providers.set(
        'webpush',
        createWebPush(keys, webpush.subject || config.webpush.subject, outbound, clock),
      )
    }
    return providers
  }
}

function contextOf(name: string): string {
  return `push provider ${name}`
}

/** Counts the stored credentials by the key that encrypted them. */
export async function countPushCredentialsByKey(database: Queryable): Promise<ReadonlyMap<string, number>> {
  const rows = await database.many<{ key: string; count: number }>(sql`
    select split_part(entry ->> 'sealed', '.', 1) as key, count(*)::int as count
    from basalt.settings, jsonb_each(value) as entries (provider, entry)
    where settings.key = ${key}
    group by 1`)
  return new Map(rows.map(({ key, count }) => [key, count]))
}
