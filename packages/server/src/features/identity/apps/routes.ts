import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import * as schemas from './schemas.ts'
import type { AppService } from './service.ts'

const path = '/api/admin/apps'

/** Administration of apps. */
export function appRoutes(app: HttpServer, service: AppService): void {
  app.get(
    path,
    { config: { guard: 'admin', operation: 'apps.list' }, schema: schemas.listAppsSchema },
    async (request, reply) => reply.send(await service.list(request.query)),
  )
  app.post(
    path,
    { config: { guard: 'admin', operation: 'apps.create' }, schema: schemas.createAppSchema },
    async (request, reply) =>
      reply.code(201).send(await service.create(request.body, { actor: 'admin', origin: originOf(request) })),
  )
  app.get(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'apps.get' }, schema: schemas.getAppSchema },
    async (request, reply) => reply.send(await service.get(request.params.id)),
  )
  app.get(
    `${path}/:id/rate-limit`,
    { config: { guard: 'admin', operation: 'apps.getRateLimit' }, schema: schemas.rateLimitSchema },
    async (request, reply) => reply.send(await service.getRateLimit(request.params.id)),
  )
  app.put(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'apps.update' }, schema: schemas.updateAppSchema },
    async (request, reply) => {
      const actor = { actor: 'admin', origin: originOf(request) }
      return reply.send(await service.update(request.params.id, request.body, actor))
    },
  )
  app.delete(
    `${path}/:id`,
    { config: { guard: 'admin', operation: 'apps.delete' }, schema: schemas.deleteAppSchema },
    async (request, reply) => {
      await service.delete(request.params.id, { actor: 'admin', origin: originOf(request) })
      return reply.code(204).send()
    },
  )
}
