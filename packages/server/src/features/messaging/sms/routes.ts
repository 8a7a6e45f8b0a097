import { userOf } from '../../../http/access/authentication.ts'
import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { adminSchemas, ownLimit, ownSchemas } from './schemas.ts'
import type { SmsService } from './service.ts'

/** Text messages of the caller. */
export function ownSmsRoutes(app: HttpServer, service: SmsService): void {
  const path = '/api/messaging/sms'
  app.post(
    `${path}/send`,
    { config: { guard: 'bearer', operation: 'sms.sendOwn', programs: 'sms:send' }, schema: ownSchemas.send },
    async (request, reply) => reply.code(201).send(await service.sendAsUser(request.body, userOf(request))),
  )
  app.get(
    `${path}/messages`,
    { config: { guard: 'bearer', operation: 'sms.listOwn' }, schema: ownSchemas.list },
    async (request, reply) =>
      reply.send(await service.listOf(userOf(request).userId, ownLimit.read(request.query.limit))),
  )
  app.get(
    `${path}/messages/:id`,
    { config: { guard: 'bearer', operation: 'sms.getOwn' }, schema: ownSchemas.get },
    async (request, reply) => reply.send(await service.get(userOf(request).userId, request.params.id)),
  )
}

/** All text messages, for administrators. */
export function adminSmsRoutes(app: HttpServer, service: SmsService): void {
  const path = '/api/admin/sms'
  app.get(
    `${path}/messages`,
    { config: { guard: 'admin', operation: 'sms.list' }, schema: adminSchemas.list },
    async (request, reply) => reply.send(await service.list(request.query)),
  )
  app.get(
    `${path}/health`,
    { config: { guard: 'admin', operation: 'sms.health' }, schema: adminSchemas.health },
    async (_request, reply) => reply.send(await service.health()),
  )
  app.post(
    `${path}/send`,
    { config: { guard: 'admin', operation: 'sms.send' }, schema: adminSchemas.send },
    async (request, reply) => reply.send(await service.sendAsAdmin(request.body, originOf(request))),
  )
}
