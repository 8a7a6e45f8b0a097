import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import * as schemas from './schemas.ts'
import type { MatviewService } from './service.ts'

const path = '/api/admin/matviews'

/** Administration of materialized views. */
export function matviewRoutes(app: HttpServer, matviews: MatviewService): void {
  app.get(
    path,
    { config: { guard: 'admin', operation: 'matviews.list' }, schema: schemas.listMatviewsSchema },
    async (_request, reply) => {
      const items = await matviews.list()
      return reply.send({ items, count: items.length })
    },
  )

  app.post(
    path,
    { config: { guard: 'admin', operation: 'matviews.register' }, schema: schemas.registerMatviewSchema },
    async (request, reply) => reply.code(201).send(await matviews.register(request.body, originOf(request))),
  )

  app.get(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'matviews.get' }, schema: schemas.getMatviewSchema },
    async (request, reply) => reply.send(await matviews.get(request.params.id)),
  )

  app.put(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'matviews.update' }, schema: schemas.updateMatviewSchema },
    async (request, reply) => {
      const { refreshMode } = request.body
      return reply.send(await matviews.setRefreshMode(request.params.id, refreshMode, originOf(request)))
    },
  )

  app.delete(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'matviews.unregister' }, schema: schemas.deleteMatviewSchema },
    async (request, reply) => {
      await matviews.delete(request.params.id, originOf(request))
      return reply.code(204).send()
    },
  )

  app.post(
    `${path}/:id/refresh`,
    { config: { guard: 'admin', operation: 'matviews.refresh' }, schema: schemas.refreshMatviewSchema },
    async (request, reply) => reply.send(await matviews.refresh(request.params.id, originOf(request))),
  )
}
