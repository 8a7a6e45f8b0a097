import { PassThrough } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Catalog } from '../../../database/catalog/model.ts'
import type { Database } from '../../../database/open.ts'
import { readTimePosition, writeTimePosition } from '../../../http/requests/filters.ts'
import { originOf } from '../../../http/requests/request-origin.ts'
import { untilDisconnected } from '../../../http/responses/disconnection.ts'
import type { HttpServer } from '../../../http/server.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { answerOf } from './answer.ts'
import { cancelRun } from './cancel.ts'
import { listSchemas, nameSchema, type SchemaNames } from './completion.ts'
import { sqlRunnerErrors } from './errors.ts'
import type { RunEvent } from './events.ts'
import { explainStatement } from './explain.ts'
import { findRun, listRuns, type RunRow } from './queries.ts'
import { readRunRequest } from './request.ts'
import type { SqlRunner } from './runner.ts'
import type { SavedQueries } from './saved-queries.ts'
import * as schemas from './schemas.ts'

export interface SqlRoutesDeps {
  readonly database: Pick<Database, 'system' | 'aside' | 'user' | 'engine'>
  readonly runner: SqlRunner
  readonly saved: SavedQueries
  readonly catalog: { readonly current: Catalog }
}

const path = '/api/admin/sql'
const ndjson = 'application/x-ndjson'

export function sqlRoutes(app: HttpServer, { database, runner, saved, catalog }: SqlRoutesDeps): void {
  app.post(
    path,
    { config: { guard: 'admin', operation: 'sql.run' }, schema: schemas.runSchema },
    async (request, reply) => {
      const run = readRunRequest(request.body)
      const signal = untilDisconnected(reply)
      if (request.headers.accept?.includes(ndjson) === true) {
        const lines = new PassThrough()
        const emit = (event: RunEvent) => void lines.write(`${JSON.stringify(event)}\n`)
        const { ended } = await runner.start(run, originOf(request), signal, emit)
        void ended.then(() => lines.end())
        return await sendLines(reply, lines)
      }
      const events: RunEvent[] = []
      const { ended } = await runner.start(run, originOf(request), signal, (event) => events.push(event))
      await ended
      return reply.type('application/json; charset=utf-8').send(answerOf(events))
    },
  )

  app.post(
    `${path}/explain`,
    { config: { guard: 'admin', operation: 'sql.explain' }, schema: schemas.explainSchema },
    async (request, reply) => {
      const { analyze = false, ...body } = request.body
      const run = readRunRequest(body)
      const signal = untilDisconnected(reply)
      return reply.send(await explainStatement(database, run, analyze, originOf(request), signal))
    },
  )

  app.get(
    `${path}/runs`,
    { config: { guard: 'admin', operation: 'sql.listRuns' }, schema: schemas.listRunsSchema },
    async (request, reply) => {
      const { q, cursor } = request.query
      const after = cursor === undefined ? undefined : readTimePosition(cursor)
      const limit = schemas.pageLimit.read(request.query.limit)
      const rows = await listRuns(database.system, { search: q, after }, limit + 1)
      const page = rows.slice(0, limit)
      const last = rows.length > limit ? page.at(-1) : undefined
      return reply.send({
        items: page.map(showRun),
        ...(last === undefined
          ? {}
          : { nextCursor: writeTimePosition({ microseconds: last.position, id: last.id }) }),
      })
    },
  )
  app.get(
    `${path}/runs/:id`,
    { config: { guard: 'admin', operation: 'sql.getRun' }, schema: schemas.getRunSchema },
    async (request, reply) => {
      const { id } = request.params
      const run = isUuid(id) ? await findRun(database.system, id) : undefined
      if (run === undefined) throw sqlRunnerErrors.sqlRunNotRecorded()
      return reply.send(showRun(run))
    },
  )

  app.post(
    `${path}/runs/:id/cancel`,
    { config: { guard: 'admin', operation: 'sql.cancel' }, schema: schemas.cancelSchema },
    async (request, reply) => {
      const { id } = request.params
      if (!isUuid(id)) throw sqlRunnerErrors.sqlRunNotFound()
      await cancelRun(database.system, runner, id.toLowerCase(), originOf(request))
      return reply.code(202).send({ id: id.toLowerCase() })
    },
  )

  app.get(
    `${path}/saved`,
    { config: { guard: 'admin', operation: 'sql.listSaved' }, schema: schemas.listSavedSchema },
    async (request, reply) => {
      const { q, cursor, limit } = request.query
      return reply.send(await saved.list({ search: q, after: cursor, limit: schemas.pageLimit.read(limit) }))
    },
  )
  app.get(
    `${path}/saved/:id`,
    { config: { guard: 'admin', operation: 'sql.getSaved' }, schema: schemas.getSavedSchema },
    async (request, reply) => reply.send(await saved.get(request.params.id)),
  )
  app.post(
    `${path}/saved`,
    { config: { guard: 'admin', operation: 'sql.save' }, schema: schemas.saveSchema },
    async (request, reply) => reply.code(201).send(await saved.create(request.body, originOf(request))),
  )
  app.put(
    `${path}/saved/:id`,
    { config: { guard: 'admin', operation: 'sql.changeSaved' }, schema: schemas.changeSavedSchema },
    async (request, reply) =>
      reply.send(await saved.update(request.params.id, request.body, originOf(request))),
  )
  app.delete(
    `${path}/saved/:id`,
    { config: { guard: 'admin', operation: 'sql.forgetSaved' }, schema: schemas.forgetSavedSchema },
    async (request, reply) => {
      await saved.delete(request.params.id, originOf(request))
      return reply.code(204).send()
    },
  )

  /** By snapshot of the catalog; schemas that it does not hold are read each time. */
  const named = new WeakMap<Catalog, Map<string, Promise<SchemaNames>>>()
  function namesOf(schema: string): Promise<SchemaNames> {
    const { current } = catalog
    if (!current.schemas.includes(schema)) return nameSchema(database.system, schema)
    const known = named.get(current) ?? new Map<string, Promise<SchemaNames>>()
    named.set(current, known)
    const names = known.get(schema) ?? nameSchema(database.system, schema)
    known.set(schema, names)
    names.catch(() => known.delete(schema))
    return names
  }

  app.get(
    `${path}/schemas`,
    { config: { guard: 'admin', operation: 'sql.listSchemas' }, schema: schemas.listSchemasSchema },
    async (_request, reply) => reply.send({ items: await listSchemas(database.system) }),
  )
  app.get(
    `${path}/schemas/:schema`,
    { config: { guard: 'admin', operation: 'sql.nameSchema' }, schema: schemas.nameSchemaSchema },
    async (request, reply) => reply.send(await namesOf(request.params.schema)),
  )
}

async function sendLines(reply: FastifyReply, lines: PassThrough): Promise<FastifyReply> {
  // A proxy that collects the lines would hold back what has finished.
  void reply.type(`${ndjson}; charset=utf-8`).header('x-accel-buffering', 'no')
  return reply.send(lines)
}

function showRun({
  run_as,
  row_count,
  duration_ms,
  started_at,
  query_length,
  is_cut,
  position,
  ...run
}: RunRow) {
  return {
    ...run,
    queryLength: query_length,
    isCut: is_cut,
    runAs: run_as,
    rowCount: row_count === null ? null : Number(row_count),
    durationMs: duration_ms,
    startedAt: started_at.toISOString(),
  }
}
