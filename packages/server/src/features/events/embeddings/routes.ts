import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { refuseWhileDisabled } from '../jobs/index.ts'
import * as schemas from './schemas.ts'
import type { KeptEmbeddingService } from './service.ts'

const path = '/api/admin/embeddings'

/** Vector columns that are kept current. */
export function embeddingRoutes(app: HttpServer, embeddings: KeptEmbeddingService, isEnabled: boolean): void {
  void app.register(async (scope: HttpServer) => {
    refuseWhileDisabled(scope, isEnabled)

    scope.get(
      path,
      { config: { guard: 'admin', operation: 'embeddings.list' }, schema: schemas.listEmbeddingsSchema },
      async (_request, reply) => {
        const items = await embeddings.list()
        return reply.send({ items, count: items.length })
      },
    )

    scope.get(
      `${path}/:name`,
      { config: { guard: 'admin', operation: 'embeddings.get' }, schema: schemas.getEmbeddingSchema },
      async (request, reply) => reply.send(await embeddings.get(request.params.name)),
    )

    scope.post(
      `${path}/:name/backfill`,
      {
        config: { guard: 'admin', operation: 'embeddings.backfill' },
        schema: schemas.backfillEmbeddingSchema,
      },
      async (request, reply) => {
        const { all = false } = request.body ?? {}
        return reply.code(202).send(await embeddings.backfill(request.params.name, all, originOf(request)))
      },
    )
  })
}
