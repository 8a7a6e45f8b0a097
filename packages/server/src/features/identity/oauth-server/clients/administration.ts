import type { Queryable } from '../../../../database/system-database.ts'
import { actionNames, isAction } from '../../../../http/access/actions.ts'
import { created, noContent, ok, operation } from '../../../../http/operation.ts'
import { readUuid } from '../../../../http/requests/filters.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import {
  checkedByHandler,
  pageOf,
  pageQuery,
  readPage,
  requiredByHandler,
  uuidByHandler,
} from '../../../../http/schemas.ts'
import type { AppError } from '../../../../lib/errors.ts'
import { createToken, hashToken } from '../../../../lib/tokens.ts'
import { Type } from '../../../../lib/type.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { clientIdPrefix, clientSecretPrefix, type OAuthContext, requireEnabled } from '../context.ts'
import { oauthServerErrors } from '../errors.ts'
import { scopes as dataScopes, isScope, OAuthScope } from '../scopes.ts'
import { redirectUriLimit } from './client-metadata.ts'
import { findNameProblem, nameForm, nameLimit } from './client-name.ts'
import type { ClientRow } from './queries.ts'
import * as queries from './queries.ts'
import { OAuthClient } from './queries.ts'
import { findRedirectUriProblem, RedirectUri } from './redirect-uri.ts'

/** Members that every description below shares. */
const common = { guard: 'admin', permission: 'owner', tag: 'oauth' } as const
const collection = '/api/admin/oauth/clients'
const item = `${collection}/:clientId`
const params = Type.Object({ clientId: Type.String() })

/** Settings of a client. The handlers check them once the server is known to be enabled, each with its own message. */
const settings = {
  name: requiredByHandler(
    checkedByHandler(
      { maxLength: nameLimit, pattern: nameForm },
      Type.String({ description: 'Name that users see.' }),
    ),
  ),
  redirectUris: requiredByHandler(
    checkedByHandler(
      { items: RedirectUri, minItems: 1, maxItems: redirectUriLimit },
      Type.Array(Type.String()),
    ),
  ),
  scopes: requiredByHandler(
    checkedByHandler(
      { items: OAuthScope, contains: { enum: dataScopes } },
      Type.Array(Type.String(), {
        description:
          '`readonly`, `readwrite`, `*`, and optionally actions: `email:send`, `sms:send`, `push:send`, `function:<name>`. `*` includes no actions.',
      }),
    ),
  ),
}

const list = operation({
  ...common,
  id: 'oauthClients.list',
  permission: 'apps.read',
  method: 'GET',
  path: collection,
  summary: 'List OAuth clients, including revoked ones, the newest first',
  query: Type.Object({
    ...pageQuery.properties,
    appId: Type.Optional(uuidByHandler({ description: 'Only clients of this app.' })),
  }),
  success: ok(pageOf(OAuthClient)),
  async handle(context: OAuthContext, { query }) {
    requireEnabled(context)
    const { page, perPage, offset } = readPage(query)
    const appId = query.appId === undefined ? undefined : readUuid('appId', query.appId)
    const { items, total } = await queries.listClients(context.database, { appId, limit: perPage, offset })
    return { items, page, perPage, totalItems: total, totalPages: Math.ceil(total / perPage) }
  },
})

const create = operation({
  ...common,
  id: 'oauthClients.create',
  method: 'POST',
  path: collection,
  summary: 'Register an OAuth client',
  body: Type.Object({
    ...settings,
    appId: requiredByHandler(uuidByHandler()),
    clientType: Type.Optional(
      checkedByHandler({ enum: ['confidential', 'public'] }, Type.String({ default: 'confidential' })),
    ),
  }),
  success: created(
    Type.Object({
      clientSecret: Type.Optional(
        Type.String({ description: 'Secret, shown only once. Public clients have none.' }),
      ),
      client: OAuthClient,
    }),
  ),
  async handle(context: OAuthContext, { body, origin }) {
    requireEnabled(context)
    const { appId = '', clientType = 'confidential' } = body
    const name = readName(body.name)
    if (appId === '') throw invalid('appId is required')
    if (!isUuid(appId)) throw invalid('invalid appId format')
    if (clientType !== 'confidential' && clientType !== 'public') {
      throw invalid(`invalid client type: ${clientType} (must be confidential or public)`)
    }
    const redirectUris = readRedirectUris(body.redirectUris)
    const scopes = readScopes(body.scopes)
    const clientSecret = clientType === 'confidential' ? createToken(clientSecretPrefix) : undefined
    return await context.database.transaction(async (transaction) => {
      const inserted = await queries.insertClient(transaction, {
        app_id: appId,
        client_id: createToken(clientIdPrefix),
        name,
        client_type: clientType,
        secret_hash: clientSecret === undefined ? null : hashToken(clientSecret),
        redirect_uris: redirectUris,
        scopes,
        source: 'administrator',
      })
      if (inserted === undefined) throw invalid('app not found')
      const { client_id: clientId } = inserted
      await audit(transaction, 'create', clientId, origin, { appId, name, clientType, redirectUris, scopes })
      return { clientSecret, client: await getClient(transaction, clientId) }
    })
  },
})

const get = operation({
  ...common,
  id: 'oauthClients.get',
  permission: 'apps.read',
  method: 'GET',
  path: item,
  summary: 'Get an OAuth client',
  params,
  success: ok(OAuthClient),
  async handle(context: OAuthContext, { params: { clientId } }) {
    requireEnabled(context)
    return await getClient(context.database, clientId)
  },
})

const update = operation({
  ...common,
  id: 'oauthClients.update',
  method: 'PUT',
  path: item,
  summary: 'Change an OAuth client',
  description:
    'Type and app cannot change. Tokens with a removed scope end, as by a revocation. Actions are only for ' +
    'clients that an administrator has registered.',
  params,
  body: Type.Object(settings),
  success: ok(OAuthClient),
  async handle(context: OAuthContext, { params: { clientId }, body, origin }) {
    requireEnabled(context)
    const { database, onRevoke } = context
    const { source } = await requireInForce(database, clientId)
    if (source === 'document') throw invalid('oauth client is described by its metadata document')
    const name = readName(body.name)
    const redirectUris = readRedirectUris(body.redirectUris)
    const scopes = readScopes(body.scopes)
    if (source !== 'administrator' && scopes.some(isAction)) {
      throw invalid('scopes: actions are for clients that an administrator has registered')
    }
    await database.transaction(async (transaction) => {
      const values = { name, redirect_uris: redirectUris, scopes }
      if (!(await queries.updateClient(transaction, clientId, values))) throw revoked()
      await audit(transaction, 'update', clientId, origin, { name, redirectUris, scopes })
    })
    onRevoke()
    return await getClient(database, clientId)
  },
})

const revoke = operation({
  ...common,
  id: 'oauthClients.revoke',
  method: 'DELETE',
  path: item,
  summary: 'Revoke an OAuth client and all its grants',
  description: 'Its tokens end on every node within a second.',
  params,
  success: noContent,
  async handle(context: OAuthContext, { params: { clientId }, origin }) {
    requireEnabled(context)
    await context.database.transaction(async (transaction) => {
      if (!(await queries.revokeClient(transaction, clientId))) throw oauthServerErrors.oauthClientNotFound()
      await audit(transaction, 'revoke', clientId, origin)
    })
    context.onRevoke()
  },
})

const rotateSecret = operation({
  ...common,
  id: 'oauthClients.rotateSecret',
  stepUp: 'always',
  method: 'POST',
  path: `${item}/rotate-secret`,
  summary: 'Rotate the secret of an OAuth client',
  description: 'The previous secret ends at once.',
  params,
  success: ok(Type.Object({ clientSecret: Type.String() })),
  async handle(context: OAuthContext, { params: { clientId }, origin }) {
    requireEnabled(context)
    const { client_type } = await requireInForce(context.database, clientId)
    if (client_type === 'public') throw invalid('cannot regenerate secret for public client')
    const clientSecret = createToken(clientSecretPrefix)
    await context.database.transaction(async (transaction) => {
      if (!(await queries.replaceSecret(transaction, clientId, hashToken(clientSecret)))) throw revoked()
      await audit(transaction, 'rotate_secret', clientId, origin)
    })
    return { clientSecret }
  },
})

/** Operations of administrators on clients. */
export const clientAdministration = [list, create, get, update, revoke, rotateSecret]

/** Returns a client. @throws AppError oauth_client_not_found */
export async function getClient(database: Queryable, clientId: string): Promise<OAuthClient> {
  const client = await queries.describeClient(database, clientId)
  if (client === undefined) throw oauthServerErrors.oauthClientNotFound()
  return client
}

async function requireInForce(database: Queryable, clientId: string): Promise<ClientRow> {
  const client = await queries.findClient(database, clientId)
  if (client === undefined) throw oauthServerErrors.oauthClientNotFound()
  if (client.revoked_at !== null) throw revoked()
  return client
}

async function audit(
  transaction: Queryable,
  change: string,
  target: string,
  origin: RequestOrigin,
  detail: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await recordAudit(transaction, {
    actor: 'admin',
    action: `oauth_clients.${change}`,
    target,
    detail,
    origin,
  })
}

function invalid(problem: string): AppError {
  return oauthServerErrors.invalidOauthClient(problem)
}

function revoked(): AppError {
  return invalid('oauth client has been revoked')
}

function readName(text = ''): string {
  const name = text.trim()
  if (name === '') throw invalid('name is required')
  const problem = findNameProblem(name)
  if (problem !== undefined) throw invalid(`name: ${problem}`)
  return name
}

function readRedirectUris(uris: readonly string[] = []): string[] {
  if (uris.length === 0) throw invalid('at least one redirect URI is required')
  if (uris.length > redirectUriLimit) throw invalid(`redirectUris: at most ${redirectUriLimit}`)
  const problem = uris.map(findRedirectUriProblem).find((each) => each !== undefined)
  if (problem !== undefined) throw invalid(problem)
  return [...new Set(uris)]
}

function readScopes(scopes: readonly string[] = []): string[] {
  if (scopes.length === 0) throw invalid('at least one scope is required')
  const unknown = scopes.find((scope) => !isScope(scope) && !isAction(scope))
  if (unknown !== undefined) {
    throw invalid(`invalid scope: ${unknown} (must be one of: ${[...dataScopes, ...actionNames].join(', ')})`)
  }
  if (!scopes.some(isScope)) throw invalid(`scopes: expected one of ${dataScopes.join(', ')} beside actions`)
  return [...new Set(scopes)]
}
