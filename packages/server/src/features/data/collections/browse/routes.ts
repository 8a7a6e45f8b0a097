import type { FastifyRequest } from 'fastify'
import { adminOf } from '../../../../http/access/authentication.ts'
import { originOf } from '../../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../../http/server.ts'
import type { Viewer } from '../../view-as/index.ts'
import { readParameters } from '../parse/parameters.ts'
import { bodyOf, type CollectionRoute, callerOf, queryOf } from '../request.ts'
import type { CollectionService } from '../service.ts'
import * as schemas from './schemas.ts'

const path = '/api/admin/tables'
const json = 'application/json; charset=utf-8'

const viewerOf = (request: FastifyRequest): Viewer => ({
  sessionId: adminOf(request).sessionId,
  origin: originOf(request),
})

/** What a grid of an administrator reads and writes. Bodies stay text, as in the data API. */
export function addBrowseRoutes(app: HttpServer, { browse, applyChanges }: CollectionService): void {
  app.get<CollectionRoute>(
    `${path}/:table`,
    { config: { guard: 'admin', operation: 'tables.get' }, schema: schemas.getTable },
    async (request, reply) => {
      readParameters(queryOf(request), [])
      return await browse.describe(callerOf(request, reply), request.params.table)
    },
  )

  app.get<CollectionRoute>(
    `${path}/:table/rows`,
    { config: { guard: 'admin', operation: 'tables.rows' }, schema: schemas.browseRows },
    async (request, reply) =>
      reply
        .type(json)
        .send(
          await browse.rows(
            callerOf(request, reply),
            request.params.table,
            queryOf(request),
            viewerOf(request),
          ),
        ),
  )

  app.get<CollectionRoute>(
    `${path}/:table/count`,
    { config: { guard: 'admin', operation: 'tables.count' }, schema: schemas.countRows },
    (request, reply) =>
      browse.count(callerOf(request, reply), request.params.table, queryOf(request), viewerOf(request)),
  )

  app.get<CollectionRoute>(
    `${path}/:table/cell`,
    { config: { guard: 'admin', operation: 'tables.cell' }, schema: schemas.readCell },
    (request, reply) => browse.cell(callerOf(request, reply), request.params.table, queryOf(request)),
  )

  app.post<CollectionRoute>(
    `${path}/:table/changes`,
    { config: { guard: 'admin', operation: 'tables.applyChanges' }, schema: schemas.applyChanges },
    async (request, reply) => {
      readParameters(queryOf(request), [])
      const caller = callerOf(request, reply)
      return reply.type(json).send(await applyChanges(caller, request.params.table, bodyOf(request)))
    },
  )
}
