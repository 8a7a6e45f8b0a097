import { acceptJsonText } from '../../../http/body.ts'
import type { HttpServer } from '../../../http/server.ts'
import { bodyOf, type CollectionRoute, callerOf, idOf, queryOf, type RecordRoute } from './request.ts'
import { routeSchemas as schemas } from './schemas.ts'
import type { CollectionService } from './service.ts'

const json = 'application/json; charset=utf-8'

/** The data API. Bodies stay text: Postgres reads them. */
export function collectionRoutes(app: HttpServer, service: CollectionService): void {
  void app.register(async (scope) => {
    acceptJsonText(scope)
    // The schemas describe the routes for people; what is right depends on the table.
    scope.setValidatorCompiler(() => (value) => ({ value }))

    scope.get<CollectionRoute>(
      '/api/collections/:table',
      { config: { guard: 'data', programs: 'read', operation: 'collections.list' }, schema: schemas.list },
      async (request, reply) =>
        reply
          .type(json)
          .send(await service.list(callerOf(request, reply), request.params.table, queryOf(request))),
    )

    scope.post<CollectionRoute>(
      '/api/collections/:table',
      {
        config: { guard: 'data', programs: 'write', operation: 'collections.create' },
        schema: schemas.create,
      },
      async (request, reply) =>
        reply
          .code(201)
          .type(json)
          .send(await service.create(callerOf(request, reply), request.params.table, bodyOf(request))),
    )

    scope.post<CollectionRoute>(
      '/api/collections/:table/batch',
      { config: { guard: 'data', programs: 'write', operation: 'collections.batch' }, schema: schemas.batch },
      async (request, reply) =>
        reply
          .type(json)
          .send(await service.batch(callerOf(request, reply), request.params.table, bodyOf(request))),
    )

    scope.get<RecordRoute>(
      '/api/collections/:table/:id',
      { config: { guard: 'data', programs: 'read', operation: 'collections.get' }, schema: schemas.get },
      async (request, reply) =>
        reply
          .type(json)
          .send(
            await service.get(
              callerOf(request, reply),
              request.params.table,
              idOf(request),
              queryOf(request),
            ),
          ),
    )

    scope.patch<RecordRoute>(
      '/api/collections/:table/:id',
      {
        config: { guard: 'data', programs: 'write', operation: 'collections.update' },
        schema: schemas.update,
      },
      async (request, reply) =>
        reply
          .type(json)
          .send(
            await service.update(
              callerOf(request, reply),
              request.params.table,
              idOf(request),
              bodyOf(request),
            ),
          ),
    )

    scope.delete<RecordRoute>(
      '/api/collections/:table/:id',
      {
        config: { guard: 'data', programs: 'write', operation: 'collections.delete' },
        schema: schemas.remove,
      },
      async (request, reply) => {
        await service.delete(callerOf(request, reply), request.params.table, idOf(request))
        return reply.code(204).send()
      },
    )

    scope.post(
      '/api/batch',
      {
        config: { guard: 'data', programs: 'write', operation: 'collections.batchAcross' },
        schema: schemas.batchAcross,
      },
      async (request, reply) =>
        reply.type(json).send(await service.batchAcross(callerOf(request, reply), bodyOf(request))),
    )
  })
}
