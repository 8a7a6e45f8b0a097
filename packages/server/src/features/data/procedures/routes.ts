import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Catalog } from '../../../database/catalog/model.ts'
import { acceptJsonText } from '../../../http/requests/body.ts'
import type { HttpServer } from '../../../http/server.ts'
import { admitWhere, bodyOf, callerOf, queryOf } from '../collections/index.ts'
import type { NotifyHeaders } from './notification.ts'
import { routeSchemas as schemas } from './schemas.ts'
import type { ProcedureService } from './service.ts'

/** Functions of the database. Bodies stay text: PostgreSQL reads them. */
export function procedureRoutes(app: HttpServer, service: ProcedureService, catalog: LiveCatalog): void {
  const admitsAnonymous = (request: FastifyRequest) => admitWhere(catalog, isExecutable, request)
  void app.register(async (scope) => {
    acceptJsonText(scope)
    // The schemas describe the routes for people; what is right depends on the function.
    scope.setValidatorCompiler(() => (value) => ({ value }))

    scope.post<ProcedureRoute>(
      '/api/rpc/:procedure',
      {
        config: { guard: 'data', programs: 'write', operation: 'rpc.call', admitsAnonymous },
        schema: schemas.call,
      },
      async (request, reply) => {
        const sent = {
          body: bodyOf(request),
          queryString: queryOf(request),
          notify: notifyHeadersOf(request),
        }
        return send(reply, await service.call(callerOf(request, reply), request.params.procedure, sent))
      },
    )

    scope.get<ProcedureRoute>(
      '/api/rpc/:procedure',
      {
        config: { guard: 'data', programs: 'read', operation: 'rpc.read', admitsAnonymous },
        schema: schemas.read,
      },
      async (request, reply) =>
        send(reply, await service.read(callerOf(request, reply), request.params.procedure, queryOf(request))),
    )
  })
}

interface ProcedureRoute {
  Params: { procedure: string }
}

function isExecutable({ procedures }: Catalog, { params }: FastifyRequest): boolean {
  // The path of both routes has it.
  const { procedure } = params as ProcedureRoute['Params']
  return procedures.get(procedure)?.some(({ anonymousMayExecute }) => anonymousMayExecute) === true
}

function notifyHeadersOf({ headers }: FastifyRequest): NotifyHeaders {
  const textOf = (value: string | string[] | undefined) => (typeof value === 'string' ? value : undefined)
  return { table: textOf(headers['x-notify-table']), action: textOf(headers['x-notify-action']) }
}

function send(reply: FastifyReply, result: string | undefined): FastifyReply {
  if (result === undefined) return reply.code(204).send()
  return reply.type('application/json; charset=utf-8').send(result)
}
