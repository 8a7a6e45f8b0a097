import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { originOf } from '../../../http/request-origin.ts'
import type { AppLimiter } from './limiter.ts'
import * as schemas from './schemas.ts'
import { AppService } from './service.ts'

export { appErrorTable } from './errors.ts'
export { AppLimiter } from './limiter.ts'
export { type Actor, AppService } from './service.ts'

export interface AppsDeps {
  readonly database: SystemDatabase
  readonly limiter: AppLimiter
  /** After a change of an app: keys in memory carry its limit. */
  readonly onChange: () => void
}

/** Apps: what programs belong to, and are limited and counted by. */
export function apps({ database, limiter, onChange }: AppsDeps): Feature {
  const service = new AppService(database, onChange)
  return {
    name: 'apps',
    stop: () => limiter.stop(),
    routes(app) {
      app.get(
        '/api/admin/apps',
        { config: { guard: 'admin', operation: 'apps.list' }, schema: schemas.listAppsSchema },
        async (request, reply) => reply.send(await service.list(request.query)),
      )
      app.post(
        '/api/admin/apps',
        { config: { guard: 'admin', operation: 'apps.create' }, schema: schemas.createAppSchema },
        async (request, reply) =>
          reply
            .code(201)
            .send(await service.create(request.body, { actor: 'admin', origin: originOf(request) })),
      )
      app.get(
        '/api/admin/apps/:id',
        { config: { guard: 'admin', operation: 'apps.get' }, schema: schemas.getAppSchema },
        async (request, reply) => reply.send(await service.get(request.params.id)),
      )
      app.get(
        '/api/admin/apps/:id/rate-limit',
        { config: { guard: 'admin', operation: 'apps.getRateLimit' }, schema: schemas.rateLimitSchema },
        async (request, reply) => reply.send(await service.getRateLimit(request.params.id)),
      )
      app.put(
        '/api/admin/apps/:id',
        { config: { guard: 'admin', operation: 'apps.update' }, schema: schemas.updateAppSchema },
        async (request, reply) => {
          const actor = { actor: 'admin', origin: originOf(request) }
          return reply.send(await service.update(request.params.id, request.body, actor))
        },
      )
      app.delete(
        '/api/admin/apps/:id',
        { config: { guard: 'admin', operation: 'apps.delete' }, schema: schemas.deleteAppSchema },
        async (request, reply) => {
          await service.delete(request.params.id, { actor: 'admin', origin: originOf(request) })
          return reply.code(204).send()
        },
      )
    },
  }
}
