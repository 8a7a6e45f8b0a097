import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { type Action, actions, isAction, orderActions } from '../../../http/access/actions.ts'
import { readUuid } from '../../../http/requests/filters.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { type PageRequest, readPage } from '../../../http/schemas.ts'
import type { AppError } from '../../../lib/errors.ts'
import { parseInstant } from '../../../lib/instant.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import type { Scope } from '../opaque-tokens/index.ts'
import { apiKeyErrors } from './errors.ts'
import type { ApiKeyRow } from './queries.ts'
import * as queries from './queries.ts'
import { createSecret } from './token.ts'

export interface ApiKeyInput {
  readonly userId?: string
  readonly name?: string
  readonly scope?: string
  readonly allowedTables?: readonly string[] | null
  readonly actions?: readonly string[] | null
  readonly appId?: string | null
  readonly orgId?: string | null
  readonly expiresAt?: string | null
}

/** Whose keys are administered, and by whom. */
export type Administrator =
  /** Of all users; what happens goes to the audit. */
  | { readonly actor: string; readonly origin?: RequestOrigin; readonly userId?: undefined }
  /** A user's own. */
  | {
      readonly userId: string
      /** Locks the user's account. @throws AppError invalid_token */
      readonly lock: (transaction: Queryable) => Promise<unknown>
      readonly actor?: undefined
    }

const scopes: readonly string[] = ['*', 'readonly', 'readwrite']
const nameLimit = 200
const tablesLimit = 1000
const tableNameLimit = 200
/** Keys a user's own list shows. */
const ownLimit = 1000
export const defaultGraceSeconds = 3600
const graceLimitSeconds = 30 * 24 * 3600

/** The administration of API keys. */
export class ApiKeyService {
  readonly #database: SystemDatabase
  /** Keys in memory may have changed. */
  readonly #onChange: () => void

  constructor(database: SystemDatabase, onChange: () => void) {
    this.#database = database
    this.#onChange = onChange
  }

  /** @throws AppError invalid_list_parameter */
  async list(request: PageRequest & queries.KeyFilter) {
    const { page, perPage, offset } = readPage(request)
    const filter = {
      userId: request.userId === undefined ? undefined : readUuid('userId', request.userId),
      appId: request.appId === undefined ? undefined : readUuid('appId', request.appId),
    }
    const keys = await queries.listApiKeys(this.#database, { ...filter, limit: perPage, offset })
    const totalItems = await queries.countApiKeys(this.#database, filter)
    const totalPages = Math.ceil(totalItems / perPage)
    return { items: keys.map(describeApiKey), page, perPage, totalItems, totalPages }
  }

  async listOwn(userId: string) {
    const keys = await queries.listApiKeys(this.#database, { userId, limit: ownLimit, offset: 0 })
    return keys.map(describeApiKey)
  }

  /** For a user of the administrator's choice. @throws AppError invalid_api_key */
  async create(input: ApiKeyInput, by: Administrator) {
    const { userId = '', appId, orgId } = input
    if (userId === '') throw apiKeyErrors.invalidApiKey('userId is required')
    if (!isUuid(userId)) throw apiKeyErrors.invalidApiKey('invalid userId format')
    const name = readName(input.name)
    if (appId != null && !isUuid(appId)) throw apiKeyErrors.invalidApiKey('invalid appId format')
    if (orgId != null && !isUuid(orgId)) throw apiKeyErrors.invalidApiKey('invalid orgId format')
    if (appId != null && orgId != null) {
      throw apiKeyErrors.invalidApiKey('appId and orgId are mutually exclusive')
    }
    if (orgId != null) throw apiKeyErrors.invalidApiKey('org not found')
    return await this.#insert({ ...input, userId, name }, by)
  }

  /** For the user. @throws AppError invalid_api_key */
  async createOwn(input: ApiKeyInput, by: Extract<Administrator, { readonly userId: string }>) {
    const name = readName(input.name)
    // Even null: the caller expects something of it.
    if ('appId' in input) throw apiKeyErrors.invalidApiKey('appId is not supported on this endpoint')
    if ('orgId' in input) throw apiKeyErrors.invalidApiKey('orgId is not supported on this endpoint')
    if (input.actions != null && input.actions.length > 0) {
      throw apiKeyErrors.invalidApiKey('actions: only an administrator grants actions to a key')
    }
    return await this.#insert({ ...input, userId: by.userId, name }, by)
  }

  /** @throws AppError api_key_not_found */
  async revoke(id: string, by: Administrator): Promise<void> {
    requireId(id)
    await this.#change(by, 'api_keys.revoke', async (transaction) => {
      if (!(await queries.revokeApiKey(transaction, id, by.userId))) throw apiKeyErrors.apiKeyNotFound()
      return { id, result: undefined }
    })
  }

  /** Changes the name. @throws AppError api_key_not_found, invalid_api_key */
  async rename(id: string, given: string | undefined, by: Administrator) {
    return await this.#update(id, { name: readName(given) }, 'api_keys.rename', by)
  }

  /** Changes the name, the actions or both. @throws AppError api_key_not_found, invalid_api_key */
  async update(id: string, input: Pick<ApiKeyInput, 'name' | 'actions'>, by: Administrator) {
    if (input.name === undefined && input.actions == null) {
      throw apiKeyErrors.invalidApiKey('name or actions is required')
    }
    if (input.actions == null) return await this.rename(id, input.name, by)
    const name = input.name === undefined ? undefined : readName(input.name)
    return await this.#update(id, { name, actions: readActions(input.actions) }, 'api_keys.update', by)
  }

  async #update(id: string, change: queries.KeyChange, action: string, by: Administrator) {
    requireId(id)
    return await this.#change(by, action, async (transaction) => {
      const key = await queries.updateApiKey(transaction, id, change, by.userId)
      if (key === undefined) throw apiKeyErrors.apiKeyNotFound()
      return { id, detail: { ...change }, result: describeApiKey(key) }
    })
  }

  /**
   * Makes another secret; those before it stay valid for the grace period. A key with actions is rotated by an administrator
   * alone: with the secret its user could take the actions.
   *
   * @throws AppError api_key_not_found, api_key_has_actions
   */
  async rotate(id: string, graceSeconds: number, by: Administrator) {
    requireId(id)
    if (graceSeconds < 0 || graceSeconds > graceLimitSeconds) {
      throw apiKeyErrors.invalidApiKey(`graceSeconds: expected 0 to ${graceLimitSeconds}`)
    }
    const secret = createSecret()
    return await this.#change(by, 'api_keys.rotate', async (transaction) => {
      const key = await queries.rotateApiKey(transaction, { id, userId: by.userId, graceSeconds }, secret)
      if (key === undefined) throw apiKeyErrors.apiKeyNotFound()
      if (by.userId !== undefined && key.actions.length > 0) throw apiKeyErrors.apiKeyHasActions()
      return { id, result: { key: secret.key, apiKey: describeApiKey(key) } }
    })
  }

  async #insert(
    input: ApiKeyInput & { readonly userId: string; readonly name: string },
    by: Administrator,
  ): Promise<{ key: string; apiKey: ReturnType<typeof describeApiKey> }> {
    const values = {
      userId: input.userId,
      name: input.name,
      appId: input.appId ?? undefined,
      scope: readScope(input.scope),
      allowedTables: readTables(input.allowedTables ?? []),
      actions: readActions(input.actions ?? []),
      expiresAt: readEnd(input.expiresAt),
    }
    const secret = createSecret()
    return await this.#change(by, 'api_keys.create', async (transaction) => {
      const created = await queries.insertApiKey(transaction, values, secret)
      if (created === 'expiry') throw pastEnd()
      if (typeof created === 'string') throw apiKeyErrors.invalidApiKey(`${created} not found`)
      const apiKey = describeApiKey(created)
      const { userId, appId, name, scope, allowedTables, actions, expiresAt } = apiKey
      const detail = { userId, appId, name, scope, allowedTables, actions, expiresAt }
      return { id: created.id, detail, result: { key: secret.key, apiKey } }
    })
  }

  /** Makes a change, with the audit row of an administrator, in one transaction. */
  async #change<Result>(
    by: Administrator,
    action: string,
    work: (transaction: Queryable) => Promise<{
      readonly id: string
      readonly detail?: Readonly<Record<string, unknown>>
      readonly result: Result
    }>,
  ): Promise<Result> {
    const result = await this.#database.transaction(async (transaction) => {
      if ('lock' in by) await by.lock(transaction)
      const { id, detail = {}, result } = await work(transaction)
      if (by.actor !== undefined) {
        await recordAudit(transaction, { actor: by.actor, action, target: id, detail, origin: by.origin })
      }
      return result
    })
    this.#onChange()
    return result
  }
}

function describeApiKey(key: ApiKeyRow) {
  return {
    id: key.id,
    userId: key.user_id,
    name: key.name,
    keyPrefix: key.key_prefix,
    scope: key.scope,
    allowedTables: key.allowed_tables,
    actions: key.actions,
    appId: key.app_id,
    lastUsedAt: key.last_used_at?.toISOString() ?? null,
    expiresAt: key.expires_at?.toISOString() ?? null,
    createdAt: key.created_at.toISOString(),
    revokedAt: key.revoked_at?.toISOString() ?? null,
  }
}

function requireId(id: string): void {
  if (!isUuid(id)) throw apiKeyErrors.invalidApiKey('invalid api key id format')
}

function readName(given = ''): string {
  const name = given.trim()
  if (name === '') throw apiKeyErrors.invalidApiKey('name is required')
  if (name.length > nameLimit) throw apiKeyErrors.invalidApiKey(`name: at most ${nameLimit} characters`)
  // Postgres has no NUL in texts.
  if (name.includes('\0')) throw apiKeyErrors.invalidApiKey('name: NUL is not allowed')
  if (!name.isWellFormed()) throw apiKeyErrors.invalidApiKey('name: expected well-formed Unicode')
  return name
}

function readScope(scope = '*'): Scope {
  if (!isScope(scope)) throw apiKeyErrors.invalidApiKey('invalid scope: must be *, readonly, or readwrite')
  return scope
}

function isScope(text: string): text is Scope {
  return scopes.includes(text)
}

function readActions(given: readonly string[]): readonly Action[] {
  const unknown = given.find((action) => !isAction(action))
  if (unknown !== undefined) {
    throw apiKeyErrors.invalidApiKey(
      `actions: ${JSON.stringify(unknown.slice(0, 100))} is not one of ${actions.join(', ')}`,
    )
  }
  return orderActions(given)
}

/** Whether it is in the future, the database decides. */
function readEnd(text: string | null | undefined): Date | undefined {
  if (text == null) return undefined
  const at = parseInstant(text)
  if (at === undefined) throw pastEnd()
  return at
}

function pastEnd(): AppError {
  return apiKeyErrors.invalidApiKey('expiresAt: expected an RFC 3339 timestamp in the future')
}

/** Tables need not exist yet. */
function readTables(tables: readonly string[]): string[] {
  if (tables.length > tablesLimit) throw apiKeyErrors.invalidApiKey(`allowedTables: at most ${tablesLimit}`)
  for (const name of tables) {
    if (name.trim() === '' || name.length > tableNameLimit || name.includes('\0') || !name.isWellFormed()) {
      throw apiKeyErrors.invalidApiKey(
        `allowedTables: ${JSON.stringify(name)} is not the name of a collection`,
      )
    }
  }
  return [...new Set(tables)]
}
