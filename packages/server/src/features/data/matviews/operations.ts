import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { created, noContent, ok, operation } from '../../../http/operation.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { choice, listOf, refusedWith, uuid } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { matviewErrors } from './errors.ts'
import {
  deleteMatview,
  findMatview,
  insertMatview,
  listMatviews,
  Matview,
  refreshModes,
  updateRefreshMode,
} from './matview.ts'
import type { Refresher } from './refresh.ts'
import { defaultSchema, requireMaterializedView } from './view.ts'

export interface MatviewDeps {
  readonly database: SystemDatabase
  readonly refresher: Refresher
}

/** Options that all operations below share. */
const common = { guard: 'admin', permission: 'content.write', tag: 'materialized views' } as const
const collection = '/api/admin/matviews'
const item = `${collection}/:id`
const params = Type.Object({ id: refusedWith({ invalid: matviewErrors.invalidMatviewId }, uuid) })

const refreshMode = refusedWith(
  {
    missing: () => matviewErrors.missingMatviewField('refreshMode'),
    invalid: matviewErrors.invalidRefreshMode,
  },
  choice(refreshModes, {
    description:
      '`standard` blocks readers during the refresh. `concurrent` does not; it needs a unique index and a populated view.',
  }),
)

const list = operation({
  ...common,
  id: 'matviews.list',
  permission: 'content.read',
  method: 'GET',
  path: collection,
  summary: 'List registered materialized views',
  success: ok(listOf(Matview)),
  async handle({ database }: MatviewDeps) {
    const items = await listMatviews(database)
    return { items, count: items.length }
  },
})

const register = operation({
  ...common,
  id: 'matviews.register',
  method: 'POST',
  path: collection,
  summary: 'Register a materialized view',
  description: 'The view must exist in the database.',
  body: Type.Object({
    viewName: refusedWith(
      { missing: () => matviewErrors.missingMatviewField('viewName') },
      Type.String({ minLength: 1 }),
    ),
    schema: Type.Optional(Type.String({ default: defaultSchema })),
    refreshMode: Type.Optional(refreshMode),
  }),
  success: created(Matview),
  async handle({ database }: MatviewDeps, { body, origin }) {
    const { viewName: view, schema = defaultSchema, refreshMode: mode = 'standard' } = body
    return await database.transaction(async (transaction) => {
      await requireMaterializedView(transaction, schema, view)
      const matview = await insertMatview(transaction, { schema, view, mode })
      if (matview === undefined) throw matviewErrors.matviewAlreadyRegistered()
      await audit(transaction, 'matviews.register', matview, origin, { refreshMode: mode })
      return matview
    })
  },
})

const get = operation({
  ...common,
  id: 'matviews.get',
  permission: 'content.read',
  method: 'GET',
  path: item,
  summary: 'Get a registered materialized view',
  params,
  success: ok(Matview),
  handle: async ({ database }: MatviewDeps, { params }) => found(await findMatview(database, params.id)),
})

const update = operation({
  ...common,
  id: 'matviews.update',
  method: 'PUT',
  path: item,
  summary: 'Change the refresh mode of a materialized view',
  params,
  body: Type.Object({ refreshMode }),
  success: ok(Matview),
  async handle({ database }: MatviewDeps, { params, body: { refreshMode: mode }, origin }) {
    return await database.transaction(async (transaction) => {
      const matview = found(await updateRefreshMode(transaction, params.id, mode))
      await audit(transaction, 'matviews.update', matview, origin, { refreshMode: mode })
      return matview
    })
  },
})

const unregister = operation({
  ...common,
  id: 'matviews.unregister',
  method: 'DELETE',
  path: item,
  summary: 'Remove the registration of a materialized view',
  description: 'The view itself is kept.',
  params,
  success: noContent,
  async handle({ database }: MatviewDeps, { params, origin }) {
    await database.transaction(async (transaction) => {
      const matview = found(await deleteMatview(transaction, params.id))
      await audit(transaction, 'matviews.unregister', matview, origin)
    })
  },
})

const refresh = operation({
  ...common,
  id: 'matviews.refresh',
  method: 'POST',
  path: `${item}/refresh`,
  summary: 'Refresh a materialized view',
  description: 'Responds when the refresh is done. The refresh continues when the client disconnects.',
  params,
  success: ok(Type.Object({ registration: Matview, durationMs: Type.Integer() })),
  async handle({ database, refresher }: MatviewDeps, { params, origin }) {
    const matview = found(await findMatview(database, params.id))
    const { matview: registration, durationMs } = await refresher.refresh(matview)
    await audit(database, 'matviews.refresh', matview, origin, { durationMs })
    return { registration, durationMs }
  },
})

/** Operations on materialized views. */
export const matviewOperations = [list, register, get, update, unregister, refresh]

/** @throws AppError matview_not_found */
function found(matview: Matview | undefined): Matview {
  if (matview === undefined) throw matviewErrors.matviewNotFound()
  return matview
}

async function audit(
  database: Queryable,
  action: string,
  { id, schemaName, viewName }: Matview,
  origin: RequestOrigin,
  detail: object = {},
): Promise<void> {
  const view = `${schemaName}.${viewName}`
  await recordAudit(database, { actor: 'admin', action, target: id, detail: { view, ...detail }, origin })
}
