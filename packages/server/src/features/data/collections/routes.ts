import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import { acceptJsonText } from '../../../http/requests/body.ts'
import type { HttpServer } from '../../../http/server.ts'
import { createAdmission, isAnyWritable, isOpenFor } from './access/public-access.ts'
import { addBrowseRoutes } from './browse/routes.ts'
import { addExportRoutes } from './export/routes.ts'
import { addListRoutes } from './read/list-routes.ts'
import {
  bodyOf,
  type CollectionRoute,
  callerOf,
  type FacetRoute,
  idOf,
  queryOf,
  type RecordRoute,
} from './request.ts'
import { routeSchemas as schemas } from './schemas.ts'
import type { CollectionService } from './service.ts'

const json = 'application/json; charset=utf-8'

/** The data API. Bodies stay text: Postgres reads them. */
export function collectionRoutes(app: HttpServer, service: CollectionService, catalog: LiveCatalog): void {
  const admitWhere = createAdmission(catalog)

  void app.register(async (scope) => {
    acceptJsonText(scope)
    // The schemas describe the routes for people; what is right depends on the table.
    scope.setValidatorCompiler(() => (value) => ({ value }))

    addBrowseRoutes(scope, service)
    addListRoutes(scope, service, admitWhere(isOpenFor('select')))

    scope.post<CollectionRoute>(
      '/api/collections/:table',
      {
        config: {
          guard: 'data',
          programs: 'write',
          operation: 'collections.create',
          admitsAnonymous: admitWhere(isOpenFor('insert')),
        },
        schema: schemas.create,
      },
      async (request, reply) => {
        const caller = callerOf(request, reply)
        const { table } = request.params
        const { isCreated, record } = await service.create(caller, table, bodyOf(request), queryOf(request))
        return reply
          .code(isCreated ? 201 : 200)
          .type(json)
          .send(record)
      },
    )

    scope.patch<CollectionRoute>(
      '/api/collections/:table',
      {
        config: {
          guard: 'data',
          programs: 'write',
          operation: 'collections.updateAll',
          admitsAnonymous: admitWhere(isOpenFor('update')),
        },
        schema: schemas.updateAll,
      },
      async (request, reply) =>
        reply
          .type(json)
          .send(
            await service.updateAll(
              callerOf(request, reply),
              request.params.table,
              bodyOf(request),
              queryOf(request),
            ),
          ),
    )

    scope.delete<CollectionRoute>(
      '/api/collections/:table',
      {
        config: {
          guard: 'data',
          programs: 'write',
          operation: 'collections.deleteAll',
          admitsAnonymous: admitWhere(isOpenFor('delete')),
        },
        schema: schemas.removeAll,
      },
      async (request, reply) =>
        reply
          .type(json)
          .send(await service.deleteAll(callerOf(request, reply), request.params.table, queryOf(request))),
    )

    scope.post<CollectionRoute>(
      '/api/collections/:table/batch',
      {
        config: {
          guard: 'data',
          programs: 'write',
          operation: 'collections.batch',
          admitsAnonymous: admitWhere(isOpenFor('insert', 'update', 'delete')),
        },
        schema: schemas.batch,
      },
      async (request, reply) =>
        reply
          .type(json)
          .send(
            await service.batch(
              callerOf(request, reply),
              request.params.table,
              bodyOf(request),
              queryOf(request),
            ),
          ),
    )

    scope.get<FacetRoute>(
      '/api/collections/:table/facets/:column/search',
      {
        config: {
          guard: 'data',
          programs: 'read',
          operation: 'collections.searchFacet',
          admitsAnonymous: admitWhere(isOpenFor('select')),
        },
        schema: schemas.searchFacet,
      },
      async (request, reply) => {
        const { table, column } = request.params
        return await service.searchFacet(callerOf(request, reply), table, column, queryOf(request))
      },
    )

    addExportRoutes(scope, service, admitWhere(isOpenFor('select')))

    scope.get<RecordRoute>(
      '/api/collections/:table/:id',
      {
        config: {
          guard: 'data',
          programs: 'read',
          operation: 'collections.get',
          admitsAnonymous: admitWhere(isOpenFor('select')),
        },
        schema: schemas.get,
      },
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
        config: {
          guard: 'data',
          programs: 'write',
          operation: 'collections.update',
          admitsAnonymous: admitWhere(isOpenFor('update')),
        },
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
              queryOf(request),
            ),
          ),
    )

    scope.delete<RecordRoute>(
      '/api/collections/:table/:id',
      {
        config: {
          guard: 'data',
          programs: 'write',
          operation: 'collections.delete',
          admitsAnonymous: admitWhere(isOpenFor('delete')),
        },
        schema: schemas.remove,
      },
      async (request, reply) => {
        const caller = callerOf(request, reply)
        await service.delete(caller, request.params.table, idOf(request), queryOf(request))
        return reply.code(204).send()
      },
    )

    scope.post(
      '/api/batch',
      {
        config: {
          guard: 'data',
          programs: 'write',
          operation: 'collections.batchAcross',
          admitsAnonymous: admitWhere(isAnyWritable),
        },
        schema: schemas.batchAcross,
      },
      async (request, reply) =>
        reply
          .type(json)
          .send(await service.batchAcross(callerOf(request, reply), bodyOf(request), queryOf(request))),
    )
  })
}
