import {
  type Action,
  actionNames,
  actionPattern,
  isAction,
  orderActions,
} from '../../../http/access/actions.ts'
import { created, operation } from '../../../http/operation.ts'
import { programName, readProgramName } from '../../../http/requests/program-name.ts'
import {
  checkedByHandler,
  nullable,
  requiredByHandler,
  textForm,
  uuidByHandler,
} from '../../../http/schemas.ts'
import type { AppError } from '../../../lib/errors.ts'
import { parseInstant } from '../../../lib/instant.ts'
import { type Static, Type } from '../../../lib/type.ts'
import { isUuid } from '../../../lib/uuid.ts'
import type { Scope } from '../opaque-tokens/index.ts'
import { CreatedApiKey, insertApiKey, type NewKey, scopes } from './api-key.ts'
import {
  type Administrator,
  type ApiKeyDeps,
  administratorOf,
  changeKeys,
  type KeyDeps,
  ownerOf,
  requireActions,
} from './change.ts'
import { apiKeyErrors } from './errors.ts'
import { createSecret } from './token.ts'

const tablesLimit = 1000
const tableNameLimit = 200

const tableNames = Type.Array(
  checkedByHandler({ minLength: 1, maxLength: tableNameLimit, pattern: textForm }, Type.String()),
)
const settings = {
  name: requiredByHandler(programName),
  scope: Type.Optional(checkedByHandler({ enum: scopes }, Type.String({ description: 'Default: `*`.' }))),
  allowedTables: Type.Optional(
    nullable(checkedByHandler({ maxItems: tablesLimit }, tableNames), {
      description: 'Collections that the key may access. Empty means all.',
    }),
  ),
  expiresAt: Type.Optional(
    nullable(checkedByHandler({ format: 'date-time' }, Type.String()), {
      description: 'Time of expiry, in the future.',
    }),
  ),
}

/** Actions that an administrator grants to a key. */
export const grantedActions = Type.Optional(
  nullable(Type.Array(checkedByHandler({ pattern: `^${actionPattern}$` }, Type.String())), {
    description: 'Default: none. The scope `*` includes no actions.',
  }),
)

const newApiKey = Type.Object({
  ...settings,
  userId: requiredByHandler(uuidByHandler()),
  actions: grantedActions,
  appId: Type.Optional(nullable(uuidByHandler())),
  orgId: Type.Optional(
    checkedByHandler(
      { enum: [null] },
      nullable(Type.String(), { description: 'Not supported: there are no organizations.' }),
    ),
  ),
})
const newOwnApiKey = Type.Object({
  ...settings,
  actions: Type.Optional(
    nullable(checkedByHandler({ maxItems: 0 }, Type.Array(Type.String())), {
      description: 'Not allowed here: only an administrator grants actions.',
    }),
  ),
})

export const create = operation({
  guard: 'admin',
  permission: 'apps.write',
  tag: 'admin',
  id: 'apiKeys.create',
  method: 'POST',
  path: '/api/admin/api-keys',
  summary: 'Create an API key for a user',
  body: newApiKey,
  success: created(CreatedApiKey),
  handle(deps: ApiKeyDeps, { body, origin, http }) {
    const by = administratorOf(http, origin)
    if (body.actions != null && body.actions.length > 0) requireActions(by)
    return createApiKey(deps, body, by)
  },
})

export const createOwn = operation({
  guard: 'bearer',
  tag: 'accounts',
  id: 'apiKeys.createOwn',
  method: 'POST',
  path: '/api/auth/api-keys',
  summary: 'Create an API key that acts as the caller',
  body: newOwnApiKey,
  success: created(CreatedApiKey),
  async handle(deps: ApiKeyDeps, { body, http }) {
    const name = readName(body.name)
    for (const member of ['appId', 'orgId']) {
      // Even null is rejected, because the caller expects it to have an effect.
      if (member in body) throw apiKeyErrors.invalidApiKey(`${member} is not supported on this endpoint`)
    }
    if (body.actions != null && body.actions.length > 0) {
      throw apiKeyErrors.invalidApiKey('actions: only an administrator grants actions to a key')
    }
    const by = ownerOf(http, deps.lockIssuer)
    return await insert(deps, { userId: by.userId, name, appId: null, ...readAccess(body) }, by)
  },
})

/** Creates a key for a user of the administrator's choice. @throws AppError invalid_api_key */
export async function createApiKey(
  deps: KeyDeps,
  input: Static<typeof newApiKey>,
  by: Administrator,
): Promise<CreatedApiKey> {
  const { userId = '', appId = null, orgId = null } = input
  if (userId === '') throw apiKeyErrors.invalidApiKey('userId is required')
  if (!isUuid(userId)) throw apiKeyErrors.invalidApiKey('invalid userId format')
  const name = readName(input.name)
  if (appId !== null && !isUuid(appId)) throw apiKeyErrors.invalidApiKey('invalid appId format')
  if (orgId !== null && !isUuid(orgId)) throw apiKeyErrors.invalidApiKey('invalid orgId format')
  if (orgId !== null) {
    throw apiKeyErrors.invalidApiKey(
      appId === null ? 'org not found' : 'appId and orgId are mutually exclusive',
    )
  }
  return await insert(deps, { userId, name, appId, ...readAccess(input) }, by)
}

async function insert(deps: KeyDeps, values: NewKey, by: Administrator): Promise<CreatedApiKey> {
  const secret = createSecret()
  return await changeKeys(deps, by, async (transaction, record) => {
    const apiKey = await insertApiKey(transaction, values, secret)
    if (apiKey === 'expiry') throw pastEnd()
    if (typeof apiKey === 'string') throw apiKeyErrors.invalidApiKey(`${apiKey} not found`)
    const { id, userId, appId, name, scope, allowedTables, actions, expiresAt } = apiKey
    await record('api_keys.create', id, { userId, appId, name, scope, allowedTables, actions, expiresAt })
    return { key: secret.key, apiKey }
  })
}

export function readName(text: string | undefined): string {
  return readProgramName(text, apiKeyErrors.invalidApiKey)
}

/** Returns the members of a key that decide what it may access. */
function readAccess({ scope = '*', allowedTables, actions, expiresAt }: Static<typeof newOwnApiKey>) {
  return {
    scope: readScope(scope),
    allowedTables: readTables(allowedTables ?? []),
    actions: readActions(actions ?? []),
    expiresAt: readEnd(expiresAt),
  }
}

function readScope(text: string): Scope {
  const scope = scopes.find((each) => each === text)
  if (scope === undefined) {
    throw apiKeyErrors.invalidApiKey('invalid scope: must be *, readonly, or readwrite')
  }
  return scope
}

export function readActions(names: readonly string[]): readonly Action[] {
  const unknown = names.find((action) => !isAction(action))
  if (unknown !== undefined) {
    throw apiKeyErrors.invalidApiKey(
      `actions: ${JSON.stringify(unknown.slice(0, 100))} is not one of ${actionNames.join(', ')}`,
    )
  }
  return orderActions(names)
}

/** Parses the expiry of a key. The database decides whether it is in the future. */
function readEnd(text: string | null | undefined): Date | undefined {
  if (text == null) return undefined
  const at = parseInstant(text)
  if (at === undefined) throw pastEnd()
  return at
}

function pastEnd(): AppError {
  return apiKeyErrors.invalidApiKey('expiresAt: expected an RFC 3339 timestamp in the future')
}

/** Parses the names of tables. The tables need not exist yet. */
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
