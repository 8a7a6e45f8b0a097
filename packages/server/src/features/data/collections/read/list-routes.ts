import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AdmitsAnonymous } from '../../../../http/route-config.ts'
import type { HttpServer } from '../../../../http/server.ts'
import { parseListBody } from '../parse/list-body.ts'
import { readParameters } from '../parse/parameters.ts'
import { bodyOf, type CollectionRoute, callerOf, queryOf } from '../request.ts'
import { routeSchemas as schemas } from '../schemas.ts'
import type { CollectionService } from '../service.ts'

/** Lists and aggregates, with their parameters in the URL or in the body of a POST. */
export function addListRoutes(
  app: HttpServer,
  service: Pick<CollectionService, 'list'>,
  admitsAnonymous: AdmitsAnonymous,
): void {
  async function answerList(
    request: FastifyRequest<CollectionRoute>,
    reply: FastifyReply,
    queryString: string,
  ): Promise<FastifyReply> {
    const { body, durationMs } = await service.list(
      callerOf(request, reply),
      request.params.table,
      queryString,
    )
    if (durationMs !== undefined) void reply.header('x-query-duration-ms', durationMs)
    return reply.type('application/json; charset=utf-8').send(body)
  }

  app.get<CollectionRoute>(
    '/api/collections/:table',
    {
      config: {
        guard: 'data',
        programs: 'read',
        operation: 'collections.list',
        admitsAnonymous,
      },
      schema: schemas.list,
    },
    (request, reply) => answerList(request, reply, queryOf(request)),
  )

  app.post<CollectionRoute>(
    '/api/collections/:table/query',
    {
      config: {
        guard: 'data',
        programs: 'read',
        operation: 'collections.query',
        admitsAnonymous,
      },
      schema: schemas.query,
    },
    async (request, reply) => {
      readParameters(queryOf(request), [])
      return await answerList(request, reply, parseListBody(bodyOf(request)))
    },
  )
}
