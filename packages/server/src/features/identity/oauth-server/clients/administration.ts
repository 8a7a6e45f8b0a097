import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import { isAction } from '../../../../http/access/actions.ts'
import { readUuid } from '../../../../http/requests/filters.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { type PageRequest, readPage } from '../../../../http/schemas.ts'
import type { AppError } from '../../../../lib/errors.ts'
import { createToken, hashToken } from '../../../../lib/tokens.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { clientIdPrefix, clientSecretPrefix } from '../context.ts'
import { oauthServerErrors } from '../errors.ts'
import { scopes as dataScopes, isScope, scopeTokens } from '../scopes.ts'
import { findNameProblem } from './client-name.ts'
import type { ClientRow, CountedClientRow } from './queries.ts'
import * as queries from './queries.ts'
import { findRedirectUriProblem } from './redirect-uri.ts'

export interface ClientInput {
  readonly appId?: string
  readonly name?: string
  readonly clientType?: string
  readonly redirectUris?: readonly string[]
  readonly scopes?: readonly string[]
}

/** Who acts, for the audit. */
export interface Actor {
  readonly actor: string
  readonly origin: RequestOrigin
}

const redirectUriLimit = 100

/** The administration of clients. */
export class ClientAdministration {
  readonly #database: SystemDatabase
  readonly #onRevoke: () => void

  constructor(database: SystemDatabase, onRevoke: () => void) {
    this.#database = database
    this.#onRevoke = onRevoke
  }

  /** @throws AppError invalid_list_parameter */
  async list(request: PageRequest & { readonly appId?: string }) {
    const { page, perPage, offset } = readPage(request)
    const appId = request.appId === undefined ? undefined : readUuid('appId', request.appId)
    const { clients, total } = await queries.listClients(this.#database, { appId, limit: perPage, offset })
    const items = clients.map(describeClient)
    return { items, page, perPage, totalItems: total, totalPages: Math.ceil(total / perPage) }
  }

  /** @throws AppError oauth_client_not_found */
  async get(clientId: string) {
    const client = await queries.findCountedClient(this.#database, clientId)
    if (client === undefined) throw oauthServerErrors.oauthClientNotFound()
    return describeClient(client)
  }

  /** @throws AppError invalid_oauth_client */
  async create(input: ClientInput, by: Actor) {
    const { appId = '', clientType = 'confidential' } = input
    const name = readName(input.name)
    if (appId === '') throw invalid('appId is required')
    if (!isUuid(appId)) throw invalid('invalid appId format')
    if (clientType !== 'confidential' && clientType !== 'public') {
      throw invalid(`invalid client type: ${clientType} (must be confidential or public)`)
    }
    const redirectUris = readRedirectUris(input.redirectUris)
    const scopes = readScopes(input.scopes)
    const secret = clientType === 'confidential' ? createToken(clientSecretPrefix) : undefined
    const client = await this.#change(by, 'oauth_clients.create', async (transaction) => {
      const created = await queries.insertClient(transaction, {
        app_id: appId,
        client_id: createToken(clientIdPrefix),
        name,
        client_type: clientType,
        secret_hash: secret === undefined ? null : hashToken(secret),
        redirect_uris: redirectUris,
        scopes,
        source: 'administrator',
      })
      if (created === undefined) throw invalid('app not found')
      const detail = { appId, name, clientType, redirectUris, scopes }
      return { target: created.client_id, detail, result: created }
    })
    const described = describeClient({ ...client, ...nothingGiven })
    return { ...(secret === undefined ? {} : { clientSecret: secret }), client: described }
  }

  /** Ends what it was given with a scope that is taken away, as {@link revoke}. @throws AppError invalid_oauth_client, oauth_client_not_found */
  async update(clientId: string, input: ClientInput, by: Actor) {
    const { source } = await this.#requireInForce(clientId)
    if (source === 'document') throw invalid('oauth client is described by its metadata document')
    const name = readName(input.name)
    const redirect_uris = readRedirectUris(input.redirectUris)
    const scopes = readScopes(input.scopes)
    if (source !== 'administrator' && scopes.some(isAction)) {
      throw invalid('scopes: actions are for clients that an administrator has registered')
    }
    await this.#change(by, 'oauth_clients.update', async (transaction) => {
      const values = { name, redirect_uris, scopes }
      const updated = await queries.updateClient(transaction, clientId, values)
      if (updated === undefined) throw revoked()
      return { target: clientId, detail: { name, redirectUris: redirect_uris, scopes }, result: undefined }
    })
    this.#onRevoke()
    return await this.get(clientId)
  }

  /** Ends what it was given, on every node within a second. @throws AppError oauth_client_not_found */
  async revoke(clientId: string, by: Actor): Promise<void> {
    await this.#change(by, 'oauth_clients.revoke', async (transaction) => {
      if (!(await queries.revokeClient(transaction, clientId))) throw oauthServerErrors.oauthClientNotFound()
      return { target: clientId, result: undefined }
    })
    this.#onRevoke()
  }

  /** The secret before ends at once. @throws AppError invalid_oauth_client, oauth_client_not_found */
  async rotateSecret(clientId: string, by: Actor): Promise<{ clientSecret: string }> {
    const { client_type } = await this.#requireInForce(clientId)
    if (client_type === 'public') throw invalid('cannot regenerate secret for public client')
    const clientSecret = createToken(clientSecretPrefix)
    return await this.#change(by, 'oauth_clients.rotate_secret', async (transaction) => {
      if (!(await queries.replaceSecret(transaction, clientId, hashToken(clientSecret)))) throw revoked()
      return { target: clientId, result: { clientSecret } }
    })
  }

  async #requireInForce(clientId: string): Promise<ClientRow> {
    const client = await queries.findClient(this.#database, clientId)
    if (client === undefined) throw oauthServerErrors.oauthClientNotFound()
    if (client.revoked_at !== null) throw revoked()
    return client
  }

  /** Makes a change and its audit row in one transaction. */
  async #change<Result>(
    { actor, origin }: Actor,
    action: string,
    work: (transaction: Queryable) => Promise<{
      readonly target: string
      readonly detail?: Readonly<Record<string, unknown>>
      readonly result: Result
    }>,
  ): Promise<Result> {
    return await this.#database.transaction(async (transaction) => {
      const { target, detail = {}, result } = await work(transaction)
      await recordAudit(transaction, { actor, action, target, detail, origin })
      return result
    })
  }
}

const nothingGiven = { access_tokens: 0, refresh_tokens: 0, grants: 0, last_issued_at: null } as const

function describeClient(client: CountedClientRow | (ClientRow & typeof nothingGiven)) {
  return {
    id: client.id,
    appId: client.app_id,
    clientId: client.client_id,
    name: client.name,
    redirectUris: client.redirect_uris,
    scopes: client.scopes,
    clientType: client.client_type,
    source: client.source,
    createdAt: client.created_at.toISOString(),
    updatedAt: client.updated_at.toISOString(),
    revokedAt: client.revoked_at?.toISOString() ?? null,
    activeAccessTokenCount: client.access_tokens,
    activeRefreshTokenCount: client.refresh_tokens,
    totalGrants: client.grants,
    lastTokenIssuedAt: client.last_issued_at?.toISOString() ?? null,
  }
}

function invalid(problem: string): AppError {
  return oauthServerErrors.invalidOauthClient(problem)
}

function revoked(): AppError {
  return invalid('oauth client has been revoked')
}

function readName(given = ''): string {
  const name = given.trim()
  if (name === '') throw invalid('name is required')
  const problem = findNameProblem(name)
  if (problem !== undefined) throw invalid(`name: ${problem}`)
  return name
}

function readRedirectUris(given: readonly string[] = []): string[] {
  if (given.length === 0) throw invalid('at least one redirect URI is required')
  if (given.length > redirectUriLimit) throw invalid(`redirectUris: at most ${redirectUriLimit}`)
  const problem = given.map(findRedirectUriProblem).find((each) => each !== undefined)
  if (problem !== undefined) throw invalid(problem)
  return [...new Set(given)]
}

function readScopes(given: readonly string[] = []): string[] {
  if (given.length === 0) throw invalid('at least one scope is required')
  const unknown = given.find((scope) => !scopeTokens.includes(scope))
  if (unknown !== undefined) {
    throw invalid(`invalid scope: ${unknown} (must be one of: ${scopeTokens.join(', ')})`)
  }
  if (!given.some(isScope)) throw invalid(`scopes: expected one of ${dataScopes.join(', ')} beside actions`)
  return [...new Set(given)]
}
