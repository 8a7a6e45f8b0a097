import type { FastifyReply, FastifyRequest } from 'fastify'
import { identityOf } from '../../../http/authentication.ts'
import { acceptJsonText } from '../../../http/body.ts'
import { addressKey } from '../../../http/client-address.ts'
import type { HttpServer } from '../../../http/server.ts'
import type { Caller } from './caller.ts'
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
        config: { guard: 'data', programs: 'write', operation: 'collections.updateAll' },
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
        config: { guard: 'data', programs: 'write', operation: 'collections.deleteAll' },
        schema: schemas.removeAll,
      },
      async (request, reply) =>
        reply
          .type(json)
          .send(await service.deleteAll(callerOf(request, reply), request.params.table, queryOf(request))),
    )

    scope.post<CollectionRoute>(
      '/api/collections/:table/batch',
      { config: { guard: 'data', programs: 'write', operation: 'collections.batch' }, schema: schemas.batch },
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
              queryOf(request),
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
        const caller = callerOf(request, reply)
        await service.delete(caller, request.params.table, idOf(request), queryOf(request))
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
        reply
          .type(json)
          .send(await service.batchAcross(callerOf(request, reply), bodyOf(request), queryOf(request))),
    )
  })
}

interface CollectionRoute {
  Params: { table: string }
}

interface RecordRoute {
  Params: { table: string; id: string }
}

function callerOf(request: FastifyRequest, reply: FastifyReply): Caller {
  const { kind, scope, appId, keyId = '' } = identityOf(request)
  return {
    scope,
    isAdministrator: kind === 'admin',
    origin: () => ({ actor: kind, requestId: request.id, appId, keyId, address: addressKey(request) }),
    isAbandoned: () => reply.raw.destroyed && !reply.raw.writableFinished,
    signal: () => untilDisconnected(reply),
  }
}

function untilDisconnected({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  if (raw.destroyed) controller.abort()
  else raw.once('close', () => controller.abort())
  return controller.signal
}

/** The query string as sent: the collections read it themselves, and remember what it meant. */
function queryOf(request: FastifyRequest): string {
  const start = request.url.indexOf('?')
  return start === -1 ? '' : request.url.slice(start + 1)
}

/** The id as sent, percent-encoded: only so can a comma between values be distinguished from one inside a value. */
function idOf(request: FastifyRequest): string {
  const [path = ''] = request.url.split('?', 1)
  return path.split('/')[4] ?? ''
}

function bodyOf(request: FastifyRequest): string {
  return typeof request.body === 'string' ? request.body : ''
}
