import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import * as schemas from './schemas.ts'
import type { VectorIndexService } from './service.ts'

const path = '/api/admin/vector/indexes'

/** Administration of vector indexes. */
export function vectorIndexRoutes(app: HttpServer, indexes: VectorIndexService): void {
  app.get(
    path,
    {
      config: { guard: 'admin', operation: 'vectorIndexes.list' },
      schema: schemas.listVectorIndexesSchema,
    },
    async (_request, reply) => reply.send({ indexes: await indexes.list() }),
  )

  app.post(
    path,
    {
      config: { guard: 'admin', operation: 'vectorIndexes.create' },
      schema: schemas.createVectorIndexSchema,
    },
    async (request, reply) => reply.code(201).send(await indexes.create(request.body, originOf(request))),
  )

  app.delete(
    `${path}/:name`,
    {
      config: { guard: 'admin', operation: 'vectorIndexes.delete' },
      schema: schemas.deleteVectorIndexSchema,
    },
    async (request, reply) => {
      const { schema = 'public' } = request.query
      await indexes.delete(schema, request.params.name, originOf(request))
      return reply.code(204).send()
    },
  )
}
