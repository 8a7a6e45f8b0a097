import type { Notifications, WatchHandle } from '../../../database/notifications/notifications.ts'
import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import { isStorableText } from '../../../lib/storable-text.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import type { SocialLoginConfig } from './config.ts'
import { type ClientDeps, ProviderClient } from './provider-client.ts'
import { type BuiltInProvider, builtInProviders } from './providers/index.ts'
import { createOidcProvider } from './providers/oidc.ts'
import type { ClientSettings, Provider } from './providers/provider.ts'
import { createStandInProvider, standInSettings } from './stand-in/provider.ts'

/** Change of a provider by an administrator. */
export interface ProviderChange {
  readonly enabled?: boolean | undefined
  readonly client_id?: string | undefined
  readonly client_secret?: string | undefined
  readonly store_provider_tokens?: boolean | undefined
}

/** Stored form of a change, with the secret encrypted. */
type StoredChange = Omit<ProviderChange, 'client_secret'> & { readonly sealed_secret?: string }

interface Entry {
  readonly type: 'builtin' | 'oidc'
  readonly isEnabled: boolean
  readonly client: ProviderClient
}

export interface RegistryDeps extends ClientDeps {
  readonly database: SystemDatabase
  readonly config: SocialLoginConfig
  readonly secrets: () => SecretBox
  readonly notifications: Notifications
  /** Address of the stand-in for built-in providers without a client, only in `basalt dev`. */
  readonly standIn: string | undefined
}

const key = 'social_providers'
const topic = 'social_providers'

/** Providers of the configuration with the changes of administrators, which apply on every node. */
export class ProviderRegistry {
  readonly #deps: RegistryDeps
  #changes: Readonly<Record<string, StoredChange>> = {}
  #entries: ReadonlyMap<string, Entry>
  readonly #standIns: ReadonlyMap<string, ProviderClient>
  readonly #watch: WatchHandle

  constructor(deps: RegistryDeps) {
    this.#deps = deps
    this.#entries = this.#build()
    this.#standIns = createStandIns(deps)
    this.#watch = deps.notifications.watch({
      topic,
      version: sql`select jsonb_build_array(value, xmin) from basalt.settings where key = ${key}`,
      onChange: (version) => {
        this.#changes = version === null ? {} : JSON.parse(version)[0]
        this.#entries = this.#build()
      },
    })
  }

  /** Returns the client at an enabled provider, or at the stand-in for one without a client. */
  find(name: string): ProviderClient | undefined {
    const entry = this.#entries.get(name)
    if (entry?.isEnabled === true && findMissing(entry.client) === undefined) return entry.client
    return entry?.client.settings.clientId === '' ? this.#standIns.get(name) : undefined
  }

  /** Returns the client at a provider, enabled or not. */
  findAny(name: string): ProviderClient | undefined {
    return this.#entries.get(name)?.client
  }

  /** Lists the providers that users may sign in with. */
  listUsable(): { readonly name: string; readonly title: string }[] {
    return [...this.#entries].flatMap(([name, { isEnabled }]) => {
      const title = isEnabled ? this.find(name)?.provider.title : undefined
      return title === undefined ? [] : [{ name, title }]
    })
  }

  list() {
    return [...this.#entries].map(([name, { type, isEnabled, client }]) => ({
      name,
      type,
      display_name: client.provider.title,
      enabled: isEnabled,
      client_id_configured: client.settings.clientId !== '',
      client_secret_configured: client.settings.clientSecret !== '',
      store_provider_tokens: client.settings.storesTokens,
      missing: findMissing(client) ?? null,
      changed: Object.hasOwn(this.#changes, name),
    }))
  }

  /** Changes the given members of a provider. @throws AppError invalid_request */
  async change(
    name: string,
    { client_secret: secret, ...change }: ProviderChange,
    origin: RequestOrigin,
  ): Promise<void> {
    if (change.client_id !== undefined && !isStorableText(change.client_id)) {
      throw httpErrors.invalidRequest('client_id: expected Unicode text without NUL')
    }
    const stored: StoredChange = {
      ...change,
      ...(secret === undefined
        ? {}
        : { sealed_secret: this.#deps.secrets().seal(Buffer.from(secret), secretContext(name)) }),
    }
    await this.#write(
      'social_providers.update',
      name,
      origin,
      { ...change, secretChanged: secret !== undefined },
      sql`
      insert into basalt.settings as s (key, value)
      values (${key}, jsonb_build_object(${name}::text, ${JSON.stringify(stored)}::jsonb))
      on conflict (key) do update set updated_at = now(), value = s.value
        || jsonb_build_object(${name}::text, coalesce(s.value -> ${name}, '{}') || ${JSON.stringify(stored)}::jsonb)`,
    )
  }

  /** Resets the provider to the configuration. */
  async reset(name: string, origin: RequestOrigin): Promise<void> {
    await this.#write(
      'social_providers.reset',
      name,
      origin,
      {},
      sql`
      update basalt.settings set value = value - ${name}::text, updated_at = now() where key = ${key}`,
    )
  }

  async #write(
    action: string,
    target: string,
    origin: RequestOrigin,
    detail: Readonly<Record<string, unknown>>,
    statement: ReturnType<typeof sql>,
  ): Promise<void> {
    const { database, notifications } = this.#deps
    await database.transaction(async (transaction) => {
      await transaction.count(statement)
      await recordAudit(transaction, { actor: 'admin', action, target, detail, origin })
    })
    notifications.announce(topic)
    // The last read of several changes at once is not always the last committed one. The watch reads the current
    // one.
    await this.#watch.poll()
  }

  #build(): ReadonlyMap<string, Entry> {
    const { config } = this.#deps
    const builtIn = Object.entries(builtInProviders).map(([name, provider]): [string, Entry] => {
      // Both have the same keys.
      const { enabled, client_id, client_secret, store_provider_tokens, ...extra } =
        config.oauth[name as BuiltInProvider]
      const settings = {
        clientId: client_id,
        clientSecret: client_secret,
        storesTokens: store_provider_tokens,
        extra,
      }
      return [name, this.#entry(name, 'builtin', provider, enabled, settings)]
    })
    const oidc = Object.entries(config.oidc).map(([name, provided]): [string, Entry] => {
      const provider = createOidcProvider({
        title: provided.display_name ?? name,
        scopes: provided.scopes ?? ['openid', 'profile', 'email'],
      })
      const settings = {
        clientId: provided.client_id,
        clientSecret: provided.client_secret ?? '',
        storesTokens: provided.store_provider_tokens ?? false,
        extra: { issuer_url: provided.issuer_url },
      }
      return [name, this.#entry(name, 'oidc', provider, provided.enabled ?? true, settings)]
    })
    return new Map([...builtIn, ...oidc])
  }

  #entry(
    name: string,
    type: Entry['type'],
    provider: Provider,
    isEnabled: boolean,
    configured: ClientSettings,
  ): Entry {
    const change = this.#changes[name] ?? {}
    const secret =
      change.sealed_secret === undefined
        ? undefined
        : this.#deps.secrets().open(change.sealed_secret, secretContext(name))?.toString()
    const settings = {
      ...configured,
      clientId: change.client_id ?? configured.clientId,
      clientSecret: secret ?? configured.clientSecret,
      storesTokens: change.store_provider_tokens ?? configured.storesTokens,
    }
    const client = new ProviderClient(provider, settings, this.#deps)
    return { type, isEnabled: change.enabled ?? isEnabled, client }
  }
}

function createStandIns({ standIn, ...deps }: RegistryDeps): ReadonlyMap<string, ProviderClient> {
  if (standIn === undefined) return new Map()
  return new Map(
    Object.entries(builtInProviders).map(([name, provider]) => [
      name,
      new ProviderClient(createStandInProvider(name, provider, standIn), standInSettings, deps),
    ]),
  )
}

/** Returns the first missing key that the provider requires. */
export function findMissing({ provider, settings }: ProviderClient): string | undefined {
  if (settings.clientId === '') return 'client_id'
  const isPublic = settings.extra.issuer_url !== undefined
  if (!isPublic && provider.createClientSecret === undefined && settings.clientSecret === '')
    return 'client_secret'
  return provider.requiredExtra?.find((name) => (settings.extra[name] ?? '') === '')
}

function secretContext(name: string): string {
  return `client secret of ${name}`
}
