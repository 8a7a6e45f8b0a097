import { PassThrough } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { Catalog } from '../../../database/catalog/model.ts'
import type { Database } from '../../../database/open.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import { requirePermission, requireStepUp } from '../../../http/access/grants.ts'
import { untilRefused } from '../../../http/access/until-refused.ts'
import { type Content, ok, operation, type Success } from '../../../http/operation.ts'
import { untilDisconnected } from '../../../http/responses/disconnection.ts'
import { component, nullable } from '../../../http/schemas.ts'
import { type TUnsafe, Type } from '../../../lib/type.ts'
import { answerOf } from './answer.ts'
import { listSchemas, SchemaNames, type SchemaNamesCache } from './completion.ts'
import type { RunEvent } from './events.ts'
import { explainStatement } from './explain.ts'
import { ExplainBody, RunBody, type RunRequest, readRunRequest } from './request.ts'
import type { SqlRunner } from './runner.ts'
import { runOperations } from './runs.ts'
import { savedQueryOperations } from './saved-queries.ts'
import { tabOperations } from './tabs.ts'

export interface SqlContext {
  readonly database: Pick<Database, 'system' | 'aside' | 'user' | 'engine'>
  readonly runner: SqlRunner
  readonly catalog: { readonly current: Catalog }
  readonly names: SchemaNamesCache
}

/** Options that all operations below share. */
const common = { guard: 'admin', permission: 'sql.read', tag: 'SQL' } as const
const path = '/api/admin/sql'
const ndjson = 'application/x-ndjson'

const SqlNotice = component(
  'SqlNotice',
  Type.Object({
    statement: Type.Integer(),
    message: Type.String(),
    severity: Type.Optional(Type.String()),
    detail: Type.Optional(Type.String()),
    hint: Type.Optional(Type.String()),
  }),
)

const SqlResult = component(
  'SqlResult',
  Type.Object({
    id: Type.String(),
    columns: Type.Array(Type.String()),
    types: Type.Array(Type.String()),
    rows: Type.Array(Type.Array(Type.Unknown())),
    rowCount: Type.Integer({ description: 'Number of rows returned or changed.' }),
    durationMs: Type.Number(),
    command: nullable(Type.String(), { description: 'Command tag such as `INSERT 0 3`.' }),
    hasMore: Type.Boolean({
      description: 'True if there are more rows than `maxRows` or than fit in the response.',
    }),
    statements: Type.Integer(),
    notices: Type.Array(SqlNotice),
  }),
)

const resultOrLines: Success<TUnsafe<Content>> = {
  status: 200,
  body: Type.Unsafe<Content>({
    description: 'The result of the last statement, or a line per event.',
    content: { 'application/json': { schema: SqlResult }, [ndjson]: { schema: Type.String() } },
  }),
}

/**
 * Rejects a run that writes or has another caller, without the right and a fresh second factor.
 *
 * @throws AppError insufficient_role, step_up_required
 */
function requireMode({ mode, scope }: RunRequest, http: FastifyRequest): void {
  if (mode !== 'write' && scope.kind === 'unrestricted') return
  requirePermission(adminOf(http), scope.kind === 'unrestricted' ? 'sql.write' : 'owner')
  requireStepUp(adminOf(http))
}

const run = operation({
  ...common,
  id: 'sql.run',
  stepUp: 'byHandler',
  method: 'POST',
  path,
  summary: 'Run SQL',
  description:
    'Returns the rows of the last statement. With `Accept: application/x-ndjson` the response has the result of each statement once it has finished, as one JSON object per line: `start`, `result`, `notice`, `error`, `end`.',
  body: RunBody,
  success: resultOrLines,
  async handle({ runner }: SqlContext, { body, origin, http }, reply) {
    const request = readRunRequest(body, adminOf(http))
    requireMode(request, http)
    const signal = AbortSignal.any([untilDisconnected(reply), untilRefused(http, reply)])
    if (http.headers.accept?.includes(ndjson) === true) {
      const lines = new PassThrough()
      const emit = (event: RunEvent) => void lines.write(`${JSON.stringify(event)}\n`)
      const { ended } = await runner.start(request, origin, signal, emit)
      void ended.then(() => lines.end())
      // A buffering proxy would hold back the lines of finished statements.
      void reply.type(`${ndjson}; charset=utf-8`).header('x-accel-buffering', 'no')
      return lines
    }
    const events: RunEvent[] = []
    const { ended } = await runner.start(request, origin, signal, (event) => events.push(event))
    await ended
    void reply.type('application/json; charset=utf-8')
    return answerOf(events)
  },
})

const explain = operation({
  ...common,
  id: 'sql.explain',
  stepUp: 'byHandler',
  method: 'POST',
  path: `${path}/explain`,
  summary: 'Show the plan of a statement',
  description: 'With `analyze` the statement runs, and its changes are undone.',
  body: ExplainBody,
  success: ok(
    Type.Object({
      plan: Type.Unknown({ description: 'Plan as EXPLAIN (FORMAT JSON) returns it.' }),
      durationMs: Type.Integer(),
    }),
  ),
  async handle({ database }: SqlContext, { body, origin, http }, reply) {
    const { analyze = false, ...statement } = body
    const request = readRunRequest(statement, adminOf(http))
    requireMode(request, http)
    const signal = AbortSignal.any([untilDisconnected(reply), untilRefused(http, reply)])
    return await explainStatement(database, request, analyze, origin, signal)
  },
})

const listSchemaNames = operation({
  ...common,
  id: 'sql.listSchemas',
  method: 'GET',
  path: `${path}/schemas`,
  summary: 'List schemas for completion',
  success: ok(Type.Object({ items: Type.Array(Type.String()) })),
  async handle({ database }: SqlContext) {
    return { items: await listSchemas(database.system) }
  },
})

const nameSchema = operation({
  ...common,
  id: 'sql.nameSchema',
  method: 'GET',
  path: `${path}/schemas/:schema`,
  summary: 'List the names in a schema for completion',
  params: Type.Object({ schema: Type.String() }),
  success: ok(SchemaNames),
  handle: ({ names, catalog }: SqlContext, { params }) => names.find(catalog.current, params.schema),
})

/** Operations that run, explain, save and complete statements of administrators. */
export const sqlOperations = [
  run,
  explain,
  ...runOperations,
  ...savedQueryOperations,
  ...tabOperations,
  listSchemaNames,
  nameSchema,
]
