import type { Logger } from 'pino'
import type { Notifications, WatchHandle } from '../../../database/notifications/notifications.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { SecretBox } from '../../../lib/secret-box.ts'
import { recordAdminAction } from '../../operations/audit/index.ts'
import { secretErrors } from './errors.ts'
import { createRedactor } from './redactor.ts'
import { ReplacedValues } from './replaced-values.ts'
import {
  deleteSecret,
  listSecrets,
  readSealedSecrets,
  resealSecret,
  type Secret,
  secretLimit,
  secretsVersion,
  upsertSecret,
} from './secret.ts'

/** Secrets for code that uses them. */
export interface FunctionSecrets {
  /** Returns the secrets by name, as of the last change in the database. */
  all(): ReadonlyMap<string, string>
  /** Replaces the values of secrets in a text by their names. */
  redact(text: string): string
}

export interface SecretStoreOptions {
  readonly database: SystemDatabase
  readonly notifications: Pick<Notifications, 'watch' | 'announce'>
  /** Returns the box; created on first use. */
  readonly box: () => SecretBox
  readonly log: Logger
}

const topic = 'secrets'
/** Time for which replaced values are redacted: that of the longest job. */
const replacedMs = 3_600_000

/** Store of the operator's secrets. Every node has a new value within a second. */
export class SecretStore implements FunctionSecrets {
  readonly #options: SecretStoreOptions
  readonly #watch: WatchHandle
  #secrets: ReadonlyMap<string, string> = new Map()
  /** Times at which the values were set. */
  #setAt: ReadonlyMap<string, string> = new Map()
  readonly #replaced = new ReplacedValues({ keptMs: replacedMs, limit: secretLimit })
  #redact = createRedactor(this.#secrets)

  constructor(options: SecretStoreOptions) {
    this.#options = options
    this.#watch = options.notifications.watch({
      topic,
      version: secretsVersion,
      onChange: () => this.#load(),
    })
  }

  all(): ReadonlyMap<string, string> {
    return this.#secrets
  }

  redact(text: string): string {
    if (this.#replaced.expire(performance.now())) this.#updateRedactor()
    return this.#redact(text)
  }

  async list(): Promise<Secret[]> {
    return await listSecrets(this.#options.database)
  }

  /** @throws AppError too_many_secrets */
  async set(name: string, value: string, origin: RequestOrigin): Promise<Secret> {
    const { database, box } = this.#options
    const sealed = { name, value: box().seal(Buffer.from(value), contextOf(name)) }
    const secret = await database.transaction(async (transaction) => {
      const stored = await upsertSecret(transaction, sealed)
      if (stored === undefined) throw secretErrors.tooManySecrets(secretLimit)
      await recordAdminAction(transaction, 'secrets.set', name, origin)
      return stored
    })
    await this.#refresh()
    return secret
  }

  /** @throws AppError secret_not_found */
  async unset(name: string, origin: RequestOrigin): Promise<void> {
    await this.#options.database.transaction(async (transaction) => {
      if (!(await deleteSecret(transaction, name))) throw secretErrors.secretNotFound()
      await recordAdminAction(transaction, 'secrets.unset', name, origin)
    })
    await this.#refresh()
  }

  /** Applies a committed change on this node. The polling loop retries a failed read. */
  async #refresh(): Promise<void> {
    this.#options.notifications.announce(topic)
    await this.#watch.poll().catch(() => undefined)
  }

  async #load(): Promise<void> {
    const { database, box, log } = this.#options
    const secrets = new Map<string, string>()
    const times = new Map<string, string>()
    for (const sealed of await readSealedSecrets(database)) {
      const { name, value, setAt } = sealed
      const opened = box().open(value, contextOf(name))
      const known = this.#setAt.get(name) === setAt ? this.#secrets.get(name) : undefined
      if (opened === undefined && known !== undefined) {
        // A node with a new key has sealed the same value, and this node gets the key at its next start.
        secrets.set(name, known)
        times.set(name, setAt)
        continue
      }
      if (opened === undefined) {
        log.error({ secret: name }, 'failed to open a secret: no configured key opens it')
        continue
      }
      secrets.set(name, opened.toString())
      times.set(name, setAt)
      if (box().isOutdated(value)) await resealSecret(database, sealed, box().seal(opened, contextOf(name)))
    }
    this.#replaced.add(this.#secrets, secrets, performance.now())
    this.#secrets = secrets
    this.#setAt = times
    this.#updateRedactor()
  }

  #updateRedactor(): void {
    this.#redact = createRedactor([...this.#secrets, ...this.#replaced.entries])
  }
}

const contextOf = (name: string) => `secret ${name}`
