import type { SystemDatabase } from '../../../database/system-database.ts'
import { accepted, ok, operation } from '../../../http/operation.ts'
import { limitParameter, readTimePosition, writeTimePosition } from '../../../http/requests/filters.ts'
import { Type } from '../../../lib/type.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { cancelRun } from './cancel.ts'
import { sqlRunnerErrors } from './errors.ts'
import { cursor, nextCursor } from './listed-text.ts'
import { findRun, listRuns, SqlRun } from './queries.ts'
import type { SqlRunner } from './runner.ts'

export interface RunDeps {
  readonly database: { readonly system: SystemDatabase }
  readonly runner: SqlRunner
}

/** Options that all operations below share. */
const common = { guard: 'admin', permission: 'sql.read', tag: 'SQL' } as const
const collection = '/api/admin/sql/runs'
const item = `${collection}/:id`
const params = Type.Object({ id: Type.String({ description: 'UUID.' }) })
const pageLimit = limitParameter(50, 200)

const list = operation({
  ...common,
  id: 'sql.listRuns',
  method: 'GET',
  path: collection,
  summary: 'List runs of SQL',
  description: 'The last thousand runs, newest first, with the first 300 characters of query and error.',
  query: Type.Object({
    q: Type.Optional(Type.String({ description: 'Part of the query.' })),
    limit: pageLimit.schema,
    cursor,
  }),
  success: ok(Type.Object({ items: Type.Array(SqlRun), nextCursor })),
  async handle({ database }: RunDeps, { query }) {
    const after = query.cursor === undefined ? undefined : readTimePosition(query.cursor)
    const limit = pageLimit.read(query.limit)
    const runs = await listRuns(database.system, { search: query.q, after }, limit + 1)
    const page = runs.slice(0, limit)
    const last = runs.length > limit ? page.at(-1) : undefined
    return {
      items: page.map(({ position: _, ...run }) => run),
      nextCursor: last && writeTimePosition({ microseconds: last.position, id: last.id }),
    }
  },
})

const get = operation({
  ...common,
  id: 'sql.getRun',
  method: 'GET',
  path: item,
  summary: 'Get a run of SQL with its full query and error',
  params,
  success: ok(SqlRun),
  async handle({ database }: RunDeps, { params: { id } }) {
    const run = isUuid(id) ? await findRun(database.system, id) : undefined
    if (run === undefined) throw sqlRunnerErrors.sqlRunNotRecorded()
    return run
  },
})

const cancel = operation({
  ...common,
  id: 'sql.cancel',
  permission: 'operations.write',
  method: 'POST',
  path: `${item}/cancel`,
  summary: 'Cancel a run of SQL',
  description: 'The run may be on any node.',
  params,
  success: accepted(Type.Object({ id: Type.String({ format: 'uuid' }) })),
  async handle({ database, runner }: RunDeps, { params, origin }) {
    if (!isUuid(params.id)) throw sqlRunnerErrors.sqlRunNotFound()
    const id = params.id.toLowerCase()
    await cancelRun(database.system, runner, id, origin)
    return { id }
  },
})

/** Operations on runs of SQL, in flight and past. */
export const runOperations = [list, get, cancel]
