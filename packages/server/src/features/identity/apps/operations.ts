import { sql } from '../../../database/sql.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { defaultAppId } from '../../../http/access/identity.ts'
import { created, noContent, ok, operation } from '../../../http/operation.ts'
import { programName, readProgramName } from '../../../http/requests/program-name.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import {
  checkedByHandler,
  nullable,
  pageOf,
  pageQuery,
  refusedWith,
  requiredByHandler,
  uuid,
  uuidByHandler,
} from '../../../http/schemas.ts'
import { type Static, Type } from '../../../lib/type.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import {
  App,
  type AppValues,
  countUsedPermits,
  defaultWindowSeconds,
  findApp,
  insertApp,
  listApps,
  updateApp,
} from './app.ts'
import { appErrors } from './errors.ts'

export interface AppDeps {
  readonly database: SystemDatabase
  /** Listener that runs after a change of an app, because cached keys carry its limit. */
  readonly onChange: () => void
}

/** Administrator or command that the audit log names. */
export interface Actor {
  readonly actor: string
  readonly origin?: RequestOrigin
}

/** Members that every description below shares. */
const common = { guard: 'admin', permission: 'apps.read', tag: 'admin' } as const
const collection = '/api/admin/apps'
const item = `${collection}/:id`
const invalidId = () => appErrors.invalidApp('invalid app id format')
const params = Type.Object({ id: refusedWith({ invalid: invalidId }, uuid) })

const settings = Type.Object({
  name: requiredByHandler(programName),
  description: Type.Optional(Type.String({ maxLength: 10_000 })),
  rateLimitRps: Type.Optional(
    checkedByHandler(
      { minimum: 0 },
      Type.Integer({ maximum: 2_147_483_647, description: 'Requests per window. 0 means no limit.' }),
    ),
  ),
  rateLimitWindowSeconds: Type.Optional(
    checkedByHandler({ minimum: 0 }, Type.Integer({ maximum: 86_400, description: '0: 60 seconds.' })),
  ),
})
const newApp = Type.Object({
  ...settings.properties,
  ownerUserId: requiredByHandler(uuidByHandler({ description: 'Id of an existing user.' })),
})

const list = operation({
  ...common,
  id: 'apps.list',
  method: 'GET',
  path: collection,
  summary: 'List apps, the newest first',
  query: pageQuery,
  success: ok(pageOf(App)),
  handle: ({ database }: AppDeps, { query }) => listApps(database, query),
})

const create = operation({
  ...common,
  id: 'apps.create',
  permission: 'apps.write',
  method: 'POST',
  path: collection,
  summary: 'Create an app',
  body: newApp,
  success: created(App),
  handle: (deps: AppDeps, { body, origin }) => createApp(deps, body, { actor: 'admin', origin }),
})

const get = operation({
  ...common,
  id: 'apps.get',
  method: 'GET',
  path: item,
  summary: 'Get an app',
  params,
  success: ok(App),
  handle: async ({ database }: AppDeps, { params }) => found(await findApp(database, params.id)),
})

const getRateLimit = operation({
  ...common,
  id: 'apps.getRateLimit',
  method: 'GET',
  path: `${item}/rate-limit`,
  summary: 'Get the use of an app’s rate limit',
  description:
    'Counted in the window that ends now, over all nodes. Permits that nodes hold ahead of requests count as used.',
  params,
  success: ok(
    Type.Object({
      limit: Type.Integer({ description: '0 means no limit.' }),
      windowSeconds: Type.Integer(),
      used: Type.Integer(),
      remaining: nullable(Type.Integer(), { description: 'null means no limit.' }),
    }),
  ),
  async handle({ database }: AppDeps, { params: { id } }) {
    const { rateLimitRps: limit, rateLimitWindowSeconds: windowSeconds } = found(await findApp(database, id))
    const used = limit === 0 ? 0 : Math.min(limit, await countUsedPermits(database, id))
    return { limit, windowSeconds, used, remaining: limit === 0 ? null : limit - used }
  },
})

const update = operation({
  ...common,
  id: 'apps.update',
  permission: 'apps.write',
  method: 'PUT',
  path: item,
  summary: 'Replace an app',
  description: 'A missing description becomes empty. Missing limits stay unchanged.',
  params,
  body: settings,
  success: ok(App),
  async handle({ database, onChange }: AppDeps, { params: { id }, body, origin }) {
    const values = readValues(body)
    const app = await database.transaction(async (transaction) => {
      const updated = found(await updateApp(transaction, id, values))
      const detail = limitOf(updated)
      await recordAudit(transaction, { actor: 'admin', action: 'apps.update', target: id, detail, origin })
      return updated
    })
    onChange()
    return app
  },
})

const remove = operation({
  ...common,
  id: 'apps.delete',
  stepUp: 'always',
  permission: 'apps.write',
  method: 'DELETE',
  path: item,
  summary: 'Delete an app and revoke its API keys',
  params,
  success: noContent,
  handle: (deps: AppDeps, { params, origin }) => deleteApp(deps, params.id, { actor: 'admin', origin }),
})

/** Operations of administrators on apps. */
export const appOperations = [list, create, get, getRateLimit, update, remove]

/** Creates an app. @throws AppError invalid_app */
export async function createApp(
  { database }: Pick<AppDeps, 'database'>,
  { ownerUserId = '', ...input }: Static<typeof newApp>,
  { actor, origin }: Actor,
): Promise<App> {
  const values = readValues(input)
  if (ownerUserId === '') throw appErrors.invalidApp('ownerUserId is required')
  if (!isUuid(ownerUserId)) throw appErrors.invalidApp('invalid ownerUserId format')
  return await database.transaction(async (transaction) => {
    const app = await insertApp(transaction, ownerUserId, values)
    if (app === undefined) throw appErrors.invalidApp('owner user not found')
    await recordAudit(transaction, {
      actor,
      action: 'apps.create',
      target: app.id,
      detail: limitOf(app),
      origin,
    })
    return app
  })
}

/** Deletes an app. @throws AppError invalid_app, app_not_found, default_app_kept */
export async function deleteApp(
  { database, onChange }: AppDeps,
  id: string,
  { actor, origin }: Actor,
): Promise<void> {
  if (!isUuid(id)) throw invalidId()
  if (id.toLowerCase() === defaultAppId) throw appErrors.defaultAppKept()
  await database.transaction(async (transaction) => {
    // The deletion revokes the keys of the app.
    const count = await transaction.count(sql`delete from basalt.apps where id = ${id}`)
    if (count === 0) throw appErrors.appNotFound()
    await recordAudit(transaction, { actor, action: 'apps.delete', target: id, origin })
  })
  onChange()
}

/** Returns the app, if there is one. @throws AppError app_not_found */
function found(app: App | undefined): App {
  if (app === undefined) throw appErrors.appNotFound()
  return app
}

/** Returns the members of an app that the audit log records. */
function limitOf({ name, rateLimitRps, rateLimitWindowSeconds }: App) {
  return { name, rateLimitRps, rateLimitWindowSeconds }
}

/** Parses the members of an app. @throws AppError invalid_app */
function readValues({
  name,
  description = '',
  rateLimitRps,
  rateLimitWindowSeconds,
}: Static<typeof settings>): AppValues {
  const values = {
    name: readProgramName(name, appErrors.invalidApp),
    description,
    rateLimit: rateLimitRps,
    windowSeconds: rateLimitWindowSeconds === 0 ? defaultWindowSeconds : rateLimitWindowSeconds,
  }
  if ((rateLimitRps ?? 0) < 0 || (rateLimitWindowSeconds ?? 0) < 0) {
    throw appErrors.invalidApp('rate limit values must be non-negative')
  }
  if (description.includes('\0')) throw appErrors.invalidApp('description: NUL is not allowed')
  return values
}
