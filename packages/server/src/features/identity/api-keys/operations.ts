import { userOf } from '../../../http/access/authentication.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { noContent, ok, operation } from '../../../http/operation.ts'
import { programName } from '../../../http/requests/program-name.ts'
import {
  checkedByHandler,
  pageOf,
  pageQuery,
  refusedWith,
  requiredByHandler,
  uuid,
} from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { isUuid } from '../../../lib/uuid.ts'
import {
  ApiKey,
  CreatedApiKey,
  listApiKeys,
  listApiKeysOf,
  replaceSecret,
  revokeKey,
  updateApiKey,
} from './api-key.ts'
import {
  type Administrator,
  type ApiKeyDeps,
  administratorOf,
  changeKeys,
  type KeyDeps,
  ownerOf,
  requireActions,
} from './change.ts'
import { create, createOwn, grantedActions, readActions, readName } from './create.ts'
import { apiKeyErrors } from './errors.ts'
import { createSecret } from './token.ts'

/** Members that every description of an operation for administrators shares. */
const administration = { guard: 'admin', permission: 'apps.write', tag: 'admin' } as const
/** Members that every description of an operation for users shares. */
const own = { guard: 'bearer', tag: 'accounts' } as const
const collection = '/api/admin/api-keys'
const ownCollection = '/api/auth/api-keys'
const defaultGraceSeconds = 3600
const graceLimitSeconds = 30 * 24 * 3600
const invalidId = () => apiKeyErrors.invalidApiKey('invalid api key id format')
const params = Type.Object({ id: refusedWith({ invalid: invalidId }, uuid) })

const rotateBody = Type.Optional(
  Type.Object({
    graceSeconds: Type.Optional(
      checkedByHandler(
        { minimum: 0, maximum: graceLimitSeconds },
        Type.Integer({ description: `Default: ${defaultGraceSeconds}.` }),
      ),
    ),
  }),
)
const rotateDescription =
  'The previous secret stays valid for the grace period. Older ones end. Only an administrator can rotate a key with actions.'

/** Declares the parameter that filters a list by an id. */
function idFilter(name: string, description: string) {
  const invalid = () => httpErrors.invalidListParameter(name, 'must be a UUID')
  return Type.Optional(refusedWith({ invalid }, { ...uuid, description }))
}

const list = operation({
  ...administration,
  id: 'apiKeys.list',
  permission: 'apps.read',
  method: 'GET',
  path: collection,
  summary: 'List API keys, including revoked ones, the newest first',
  query: Type.Object({
    ...pageQuery.properties,
    userId: idFilter('userId', 'Only keys of this user.'),
    appId: idFilter('appId', 'Only keys of this app.'),
  }),
  success: ok(pageOf(ApiKey)),
  handle: ({ database }: ApiKeyDeps, { query }) => listApiKeys(database, query),
})

const update = operation({
  ...administration,
  id: 'apiKeys.update',
  method: 'PATCH',
  path: `${collection}/:id`,
  summary: 'Change the name or the actions of an API key',
  description: 'Requires at least one of the two.',
  params,
  body: Type.Object({
    name: Type.Optional(programName),
    actions: grantedActions,
  }),
  success: ok(ApiKey),
  async handle(deps: ApiKeyDeps, { params, body, http, origin }) {
    if (body.name === undefined && body.actions == null) {
      throw apiKeyErrors.invalidApiKey('name or actions is required')
    }
    return await changeApiKey(deps, params.id, body, administratorOf(http, origin))
  },
})

const rotate = operation({
  ...administration,
  id: 'apiKeys.rotate',
  stepUp: 'always',
  method: 'POST',
  path: `${collection}/:id/rotate`,
  summary: 'Rotate the secret of an API key',
  description: rotateDescription,
  params,
  body: rotateBody,
  success: ok(CreatedApiKey),
  handle: (deps: ApiKeyDeps, { params, body, http, origin }) =>
    rotateApiKey(deps, params.id, body?.graceSeconds, administratorOf(http, origin)),
})

const revoke = operation({
  ...administration,
  id: 'apiKeys.revoke',
  method: 'DELETE',
  path: `${collection}/:id`,
  summary: 'Revoke an API key',
  params,
  success: noContent,
  handle: (deps: ApiKeyDeps, { params, origin }) => revokeApiKey(deps, params.id, { actor: 'admin', origin }),
})

const listOwn = operation({
  ...own,
  id: 'apiKeys.listOwn',
  method: 'GET',
  path: ownCollection,
  summary: "List the caller's API keys, including revoked ones, the newest first",
  description: 'At most 1000 keys.',
  success: ok(Type.Array(ApiKey)),
  handle: ({ database }: ApiKeyDeps, { http }) => listApiKeysOf(database, userOf(http).userId, 1000),
})

const renameOwn = operation({
  ...own,
  id: 'apiKeys.renameOwn',
  method: 'PATCH',
  path: `${ownCollection}/:id`,
  summary: 'Rename an API key of the caller',
  params,
  body: Type.Object({ name: requiredByHandler(programName) }),
  success: ok(ApiKey),
  handle: (deps: ApiKeyDeps, { params, body: { name = '' }, http }) =>
    changeApiKey(deps, params.id, { name }, ownerOf(http, deps.lockCaller)),
})

const rotateOwn = operation({
  ...own,
  id: 'apiKeys.rotateOwn',
  method: 'POST',
  path: `${ownCollection}/:id/rotate`,
  summary: 'Rotate the secret of an API key of the caller',
  description: rotateDescription,
  params,
  body: rotateBody,
  success: ok(CreatedApiKey),
  handle: (deps: ApiKeyDeps, { params, body, http }) =>
    rotateApiKey(deps, params.id, body?.graceSeconds, ownerOf(http, deps.lockIssuer)),
})

const revokeOwn = operation({
  ...own,
  id: 'apiKeys.revokeOwn',
  method: 'DELETE',
  path: `${ownCollection}/:id`,
  summary: 'Revoke an API key of the caller',
  params,
  success: noContent,
  handle: (deps: ApiKeyDeps, { params, http }) =>
    revokeApiKey(deps, params.id, ownerOf(http, deps.lockCaller)),
})

/** Operations on API keys, for administrators and for the keys of the caller. */
export const apiKeyOperations = [
  list,
  create,
  update,
  rotate,
  revoke,
  listOwn,
  createOwn,
  renameOwn,
  rotateOwn,
  revokeOwn,
]

/** Revokes a key. @throws AppError api_key_not_found */
export async function revokeApiKey(deps: KeyDeps, id: string, by: Administrator): Promise<void> {
  if (!isUuid(id)) throw invalidId()
  await changeKeys(deps, by, async (transaction, record) => {
    if (!(await revokeKey(transaction, id, by.userId))) throw apiKeyErrors.apiKeyNotFound()
    await record('api_keys.revoke', id)
  })
}

/** Changes the name and, if given, the actions. @throws AppError api_key_not_found, invalid_api_key */
async function changeApiKey(
  deps: KeyDeps,
  id: string,
  values: { readonly name?: string; readonly actions?: readonly string[] | null },
  by: Administrator,
): Promise<ApiKey> {
  const name = values.name === undefined && values.actions != null ? undefined : readName(values.name)
  const actions = values.actions == null ? undefined : readActions(values.actions)
  if (actions !== undefined) requireActions(by)
  return await changeKeys(deps, by, async (transaction, record) => {
    const key = await updateApiKey(transaction, id, { name, actions }, by.userId)
    if (key === undefined) throw apiKeyErrors.apiKeyNotFound()
    await record(actions === undefined ? 'api_keys.rename' : 'api_keys.update', id, { name, actions })
    return key
  })
}

/**
 * Creates a new secret. The previous one stays valid for the grace period. Only an administrator can rotate a
 * key with actions, because its user would get the actions with the secret.
 *
 * @throws AppError api_key_not_found, api_key_has_actions, insufficient_role
 */
export async function rotateApiKey(
  deps: KeyDeps,
  id: string,
  graceSeconds: number | undefined = defaultGraceSeconds,
  by: Administrator,
): Promise<CreatedApiKey> {
  if (!isUuid(id)) throw invalidId()
  if (graceSeconds < 0 || graceSeconds > graceLimitSeconds) {
    throw apiKeyErrors.invalidApiKey(`graceSeconds: expected 0 to ${graceLimitSeconds}`)
  }
  const secret = createSecret()
  return await changeKeys(deps, by, async (transaction, record) => {
    const apiKey = await replaceSecret(transaction, { id, userId: by.userId, graceSeconds }, secret)
    if (apiKey === undefined) throw apiKeyErrors.apiKeyNotFound()
    if (apiKey.actions.length > 0) {
      if (by.userId !== undefined) throw apiKeyErrors.apiKeyHasActions()
      requireActions(by)
    }
    await record('api_keys.rotate', id)
    return { key: secret.key, apiKey }
  })
}
